"""Patterns seen through another bank: where they lie is known from one feature map, how they look from another."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.inference.batch import Moments
from unblot.inference.estep import Stats, posterior
from unblot.inference.kernels_torch import windows
from unblot.inference.truncation import Truncation
from unblot.learning.em import fitting_batch, make_batch
from unblot.learning.mstep import mstep
from unblot.model.background import Background, fit_background
from unblot.model.likelihood import terms
from unblot.model.theta import Theta

LEAST_Q = 1e-3  # states that are less likely than that teach nothing


def refit(
    Y: Float[Tensor, "N D1 D2 F"],
    learned: Theta,
    background: Background,
    other: Float[Tensor, "N D1 D2 F"],
    truncation: Truncation,
    play: float,
) -> tuple[Theta, Background]:
    """Give what one M-step learns from `other`, the same patches in other features, with the posteriors of `Y`."""
    device, D = learned.W.device, (Y.shape[1], Y.shape[2])
    tables = terms(learned, D)
    centre = other.double().mean((0, 1, 2)).to(learned.W).expand_as(learned.W)
    seen_by = fit_background(other).to(device)
    blank = Theta(centre, torch.ones_like(centre), learned.A, learned.pi)
    frame = terms(blank, D)
    C, P, F = tables.W.shape
    R = torch.zeros(C, dtype=torch.float64, device=device)
    s0 = torch.zeros(C, P, dtype=torch.float64, device=device)
    s1, s2 = (torch.zeros(C, P, F, dtype=torch.float64, device=device) for _ in range(2))
    size = fitting_batch(device, D, learned)
    for y, y_other in zip(Y.split(size), other.split(size), strict=True):
        batch, batch_other = make_batch(y.to(device), background), make_batch(y_other.to(device), seen_by)
        found = posterior(batch, tables, truncation)
        q = found.q.reshape(-1)
        heavy = (q > LEAST_Q).nonzero()[:, 0]
        states = found.states[heavy]
        pairs = zip(windows(batch, tables, states), windows(batch_other, frame, states), strict=True)
        for (c, members, z, _), (_, _, _, delta) in pairs:
            certainty = q[heavy[members]]
            weight = certainty[:, None] * torch.sigmoid(z)  # Eq. 10
            R[c] += certainty.sum()
            s0[c] += weight.sum(0)
            s1[c] += torch.einsum("sp,spf->pf", weight, delta)
            s2[c] += torch.einsum("sp,spf->pf", weight, delta.square_())
    stats = Stats(len(Y), 0.0, R, Moments(s0, s1, s2))
    return mstep(blank, stats, seen_by.resolution(), play), seen_by
