"""Patches drawn from the model, with their latents (Eqs. 1-5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unblot.model.likelihood import shifted
from unblot.model.theta import Theta

DrawBackground = Callable[[int, torch.Generator], Float[Tensor, "count F"]]


@dataclass(frozen=True)
class Sample:
    """N patches and the class, position and mask each was made with."""

    Y: Float[Tensor, "N D1 D2 F"]
    c: Int[Tensor, " N"]
    x: Int[Tensor, "N 2"]
    m: Bool[Tensor, "N P1 P2"]


def sample(
    theta: Theta, draw_background: DrawBackground, N: int, D: tuple[int, int], generator: torch.Generator
) -> Sample:
    """Draw N patches of size D; `draw_background` gives feature vectors of H_B."""
    P1, P2 = theta.P
    c = torch.multinomial(theta.pi, N, replacement=True, generator=generator)  # Eq. 1
    x = torch.stack([torch.randint(d, (N,), generator=generator) for d in D], 1)  # Eq. 2
    A = theta.A.reshape(theta.C, P1 * P2)[c]
    m = torch.rand(A.shape, generator=generator, dtype=A.dtype) < A  # Eq. 3
    Y = draw_background(N * D[0] * D[1], generator).reshape(N, D[0] * D[1], theta.F)  # Eq. 4, where m = 0
    W, sigma = (p.reshape(theta.C, P1 * P2, theta.F)[c] for p in (theta.W, theta.Phi.sqrt()))
    pattern = W + sigma * torch.randn(W.shape, generator=generator, dtype=W.dtype)  # Eq. 4, where m = 1
    place = shifted(theta.P, D, x[:, 0] * D[1] + x[:, 1])  # [N, P]
    n, i = m.nonzero(as_tuple=True)
    Y[n, place[n, i]] = pattern[n, i]
    return Sample(Y.reshape(N, *D, theta.F), c, x, m.reshape(N, P1, P2))
