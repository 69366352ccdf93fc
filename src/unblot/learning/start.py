"""Where EM starts (Sec. 4)."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.errors import UsageError
from unblot.model.theta import Theta

UNKNOWN = 0.1  # mask of features that a pattern has not seen yet


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


def start_at(W: Float[Tensor, "C P1 P2 F"], Y: Float[Tensor, "N D1 D2 F"]) -> Theta:
    """Start from given cut-outs, with masks that are strong in the middle, and from one class without any pattern.

    The empty class takes the patches that hold none of the others; without it one of those takes them and fades.
    """
    C, P1, P2, _ = W.shape
    rows, columns = (torch.linspace(-1, 1, p, dtype=W.dtype, device=W.device) for p in (P1, P2))
    middle = 0.05 + 0.9 * torch.exp(-2 * (rows[:, None] ** 2 + columns**2))
    A = torch.cat([middle.expand(C, -1, -1), torch.zeros_like(middle)[None]])
    mean = Y.double().mean((0, 1, 2)).to(W)
    W = torch.cat([W, mean.expand(1, P1, P2, -1)])
    return Theta(W, _variance(Y).expand_as(W).clone(), A, _equal(C + 1, Y))


def centred(theta: Theta, Y: Float[Tensor, "N D1 D2 F"]) -> Theta:
    """Move each pattern so that the middle of its mask is the middle of its frame; what comes in knows nothing yet."""
    C, (P1, P2) = theta.C, theta.P
    weight = theta.A.double() ** 2
    total = weight.sum((1, 2)).clamp_min(1e-12)
    rows, columns = (torch.arange(p, dtype=torch.float64, device=weight.device) for p in (P1, P2))
    down = ((weight.sum(2) @ rows) / total - (P1 - 1) / 2).round().long()
    right = ((weight.sum(1) @ columns) / total - (P2 - 1) / 2).round().long()
    W, Phi = (v.to(theta.W).expand_as(theta.W).clone() for v in (Y.double().mean((0, 1, 2)), _variance(Y)))
    A = torch.full_like(theta.A, UNKNOWN)
    for c in range(C):
        d, r = int(down[c]), int(right[c])
        to = (slice(max(0, -d), P1 - max(0, d)), slice(max(0, -r), P2 - max(0, r)))
        out_of = (slice(max(0, d), P1 - max(0, -d)), slice(max(0, r), P2 - max(0, -r)))
        for new, old in zip((W, Phi, A), (theta.W, theta.Phi, theta.A), strict=True):
            new[c][to] = old[c][out_of]
    return Theta(W, Phi, A, theta.pi)


def contracted(theta: Theta, Y: Float[Tensor, "N D1 D2 F"], share: float = 0.1) -> Theta:
    """Keep a share of what tells the classes of a start apart: means near the data's mean, masks near one half.

    A start with large differences gives every patch to the class that happens to be closest to all of them.
    """
    mean = Y.double().mean((0, 1, 2)).to(theta.W)
    return replace(theta, W=mean + share * (theta.W - mean), A=0.5 + share * (theta.A - 0.5))


def _around(W: Float[Tensor, "C P1 P2 F"], Y: Float[Tensor, "N D1 D2 F"], generator: torch.Generator) -> Theta:
    """Complete a start: the data's variance everywhere, uniform masks, equal frequencies."""
    Phi = _variance(Y).expand_as(W).clone()
    return Theta(W.clone(), Phi, _uniform(W.shape[:3], Y, generator), _equal(W.shape[0], Y))


def _variance(Y: Float[Tensor, "N D1 D2 F"]) -> Float[Tensor, " F"]:
    return Y.double().var((0, 1, 2)).clamp_min(1e-12).to(Y.dtype)


def _equal(C: int, Y: Tensor) -> Float[Tensor, " C"]:
    return torch.full((C,), 1 / C).to(Y)


def _uniform(shape: tuple[int, ...], Y: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(shape, generator=generator, dtype=torch.float64).to(Y)


def _check(C: int, P: tuple[int, int], Y: Float[Tensor, "N D1 D2 F"]) -> None:
    if C < 1:
        raise UsageError(f"C must be at least 1, not {C}; it is the number of classes")
    D = (Y.shape[1], Y.shape[2])
    if not (1 <= P[0] <= D[0] and 1 <= P[1] <= D[1]):
        raise UsageError(f"P must lie between 1x1 and the patch size D = {D[0]}x{D[1]}, not {P[0]}x{P[1]}")
