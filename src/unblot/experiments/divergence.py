"""How far learned parameters are from generating ones, whatever the order and the shift of the classes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from unblot.model.theta import Theta

USED = 0.5  # positions whose generating mask parameter is above this are those the mask uses
RECOVERED = 0.05  # a class counts as recovered when its masks and its means are closer than this


@dataclass(frozen=True)
class Divergence:
    """Mean absolute differences between learned and generating parameters, each over its parameter's range.

    `A`, `W` and `Phi` are taken at the positions the generating mask uses; `A_everywhere` at all positions.
    """

    pi: float
    A: float
    W: float
    Phi: float
    A_everywhere: float
    recovered: int

    @property
    def mean(self) -> float:
        """Give the mean of the four."""
        return (self.pi + self.A + self.W + self.Phi) / 4


def align(learned: Theta, truth: Theta) -> Theta:
    """Reorder the learned classes and shift them cyclically so that they lie on the generating ones.

    Classes are compared by their masked means, over all shifts at once by the Fourier transform.
    """
    shape = truth.P
    mine, yours = (torch.cat([t.A[..., None], t.A[..., None] * t.W], -1).double() for t in (learned, truth))
    spectra = [torch.fft.fft2(maps, dim=(1, 2)) for maps in (mine, yours)]
    products = torch.fft.ifft2((spectra[0].conj()[:, None] * spectra[1][None]).sum(-1), dim=(2, 3)).real
    best, place = products.flatten(2).max(2)  # [C, C]
    distance = (mine**2).sum((1, 2, 3))[:, None] + (yours**2).sum((1, 2, 3)) - 2 * best
    rows, columns = linear_sum_assignment(distance.numpy())
    order = torch.empty(len(rows), dtype=torch.int64)
    order[torch.from_numpy(columns)] = torch.from_numpy(rows)
    shifts = place[order, torch.arange(len(order))]

    def moved(parameter: Tensor) -> Tensor:
        return torch.stack(
            [
                torch.roll(parameter[k], (int(s) // shape[1], int(s) % shape[1]), (0, 1))
                for k, s in zip(order, shifts, strict=True)
            ]
        )

    return Theta(moved(learned.W), moved(learned.Phi), moved(learned.A), learned.pi[order])


def divergence(learned: Theta, truth: Theta) -> Divergence:
    """Compare after alignment. Ranges: [0, 1] for pi, A and the colours W; from 0 to the largest variance for Phi."""
    aligned = align(learned, truth)
    used = truth.A > USED
    A, W, Phi = (aligned.A - truth.A).abs(), (aligned.W - truth.W).abs().mean(-1), (aligned.Phi - truth.Phi).abs()
    by_class = [max(float(A[c][used[c]].mean()), float(W[c][used[c]].mean())) for c in range(truth.C)]
    return Divergence(
        pi=float((aligned.pi - truth.pi).abs().mean()),
        A=float(A[used].mean()),
        W=float(W[used].mean()),
        Phi=float(Phi.mean(-1)[used].mean() / truth.Phi.max()),
        A_everywhere=float(A.mean()),
        recovered=sum(worst < RECOVERED for worst in by_class),
    )
