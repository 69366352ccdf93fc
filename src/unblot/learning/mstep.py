"""The M-step (Eq. 8)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.inference.estep import Stats
from unblot.model.theta import Theta

LEAST_WEIGHT = 1e-6  # of one patch: features or classes that fewer patches show keep the values they had


def mstep(theta: Theta, stats: Stats, least_variance: Float[Tensor, " F"], play: float = 0.0) -> Theta:
    """Give the parameters that maximise the free energy; variances stay above `least_variance`.

    `play` is the variance of a pattern's position between the places of the feature map, in cells along each axis:
    1/12 where all positions are alike. Variances stay above what that play makes of the pattern's slopes.
    """
    dtype = theta.W.dtype
    R, s0, s1, s2 = stats.responsibility, stats.moments.s0, stats.moments.s1, stats.moments.s2
    pi = R / stats.N  # Eq. 8, first line
    A = (s0 / R[:, None].clamp_min(LEAST_WEIGHT)).clamp(0, 1)  # Eq. 8, second line
    weight = s0[..., None].clamp_min(LEAST_WEIGHT)
    moved = s1 / weight
    W = theta.W.reshape(s1.shape) + moved  # Eq. 8, third line
    least = least_variance.double() + play * _squared_slope(W.reshape(theta.W.shape)).reshape(W.shape)
    Phi = torch.maximum(s2 / weight - moved**2, least)  # Eq. 8, fourth line
    alive, seen = R > LEAST_WEIGHT, s0 > LEAST_WEIGHT
    A = torch.where(alive[:, None], A, theta.A.reshape(A.shape))
    W = torch.where(seen[..., None], W, theta.W.reshape(W.shape))
    Phi = torch.where(seen[..., None], Phi, theta.Phi.reshape(Phi.shape))
    return Theta(
        W.reshape(theta.W.shape).to(dtype),
        Phi.reshape(theta.Phi.shape).to(dtype),
        A.reshape(theta.A.shape).to(dtype),
        (pi / pi.sum()).to(dtype),
    )


def _squared_slope(W: Float[Tensor, "C P1 P2 F"]) -> Float[Tensor, "C P1 P2 F"]:
    slopes = torch.zeros_like(W)
    slopes[:, 1:-1] += ((W[:, 2:] - W[:, :-2]) / 2) ** 2
    slopes[:, :, 1:-1] += ((W[:, :, 2:] - W[:, :, :-2]) / 2) ** 2
    return slopes
