"""Where EM starts (Sec. 4)."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.errors import UsageError
from unblot.model.theta import Theta


def start_uniform(Y: Float[Tensor, "N D1 D2 F"], C: int, P: tuple[int, int], generator: torch.Generator) -> Theta:
    """Draw W uniformly from the range of each feature: the RGB cube of the paper's artificial data."""
    low, high = Y.amin((0, 1, 2)), Y.amax((0, 1, 2))
    _check(C, P, Y)
    W = low + (high - low) * _uniform((C, *P, Y.shape[3]), Y, generator)
    return _around(W, Y, generator)


def start_cutouts(Y: Float[Tensor, "N D1 D2 F"], C: int, P: tuple[int, int], generator: torch.Generator) -> Theta:
    """Cut W out of randomly chosen patches at random places, as for the paper's documents."""
    _check(C, P, Y)
    N, D1, D2, _ = Y.shape
    patches = torch.randperm(N, generator=generator)[:C] if C <= N else torch.randint(N, (C,), generator=generator)
    cuts = []
    for n in patches.tolist():
        top, left = (int(torch.randint(d - p + 1, (1,), generator=generator)) for d, p in zip((D1, D2), P, strict=True))
        cuts.append(Y[n, top : top + P[0], left : left + P[1]])
    return _around(torch.stack(cuts), Y, generator)


def contracted(theta: Theta, Y: Float[Tensor, "N D1 D2 F"], share: float = 0.1) -> Theta:
    """Keep a share of what tells the classes of a start apart: means near the data's mean, masks near one half.

    A start with large differences gives every patch to the class that happens to be closest to all of them.
    """
    mean = Y.double().mean((0, 1, 2)).to(theta.W)
    return replace(theta, W=mean + share * (theta.W - mean), A=0.5 + share * (theta.A - 0.5))


def _around(W: Float[Tensor, "C P1 P2 F"], Y: Float[Tensor, "N D1 D2 F"], generator: torch.Generator) -> Theta:
    """Complete a start: the data's variance everywhere, uniform masks, equal frequencies."""
    C = W.shape[0]
    Phi = Y.double().var((0, 1, 2)).clamp_min(1e-12).to(Y.dtype).expand_as(W).clone()
    return Theta(W.clone(), Phi, _uniform(W.shape[:3], Y, generator), torch.full((C,), 1 / C).to(Y))


def _uniform(shape: tuple[int, ...], Y: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(shape, generator=generator, dtype=torch.float64).to(Y)


def _check(C: int, P: tuple[int, int], Y: Float[Tensor, "N D1 D2 F"]) -> None:
    if C < 1:
        raise UsageError(f"C must be at least 1, not {C}; it is the number of classes")
    D = (Y.shape[1], Y.shape[2])
    if not (1 <= P[0] <= D[0] and 1 <= P[1] <= D[1]):
        raise UsageError(f"P must lie between 1x1 and the patch size D = {D[0]}x{D[1]}, not {P[0]}x{P[1]}")
