"""What the kernels take and give: patches, states (n, c, x), and sums over states."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unblot.model.likelihood import Terms


@dataclass(frozen=True)
class Batch:
    """Some patches with log H_B at each of their positions."""

    Y: Float[Tensor, "B D1 D2 F"]
    log_H: Float[Tensor, "B D1 D2"]

    @property
    def N(self) -> int:
        """The number of patches."""
        return self.Y.shape[0]

    def to(self, device: torch.device) -> Batch:
        """Give the same patches on another device."""
        return Batch(self.Y.to(device), self.log_H.to(device))


@dataclass(frozen=True)
class States:
    """Triples of patch, class and flat position, ordered by patch, then class."""

    n: Int[Tensor, " S"]
    c: Int[Tensor, " S"]
    x: Int[Tensor, " S"]

    def __getitem__(self, chosen: Tensor) -> States:
        """Take some of them."""
        return States(self.n[chosen], self.c[chosen], self.x[chosen])


@dataclass(frozen=True)
class Moments:
    """Sums over weighted states of p(m_i = 1) times 1, y - w and (y - w)^2, w the mean before the M-step.

    About the old mean, so that the variance is no small difference of large numbers.
    """

    s0: Float[Tensor, "C P"]
    s1: Float[Tensor, "C P F"]
    s2: Float[Tensor, "C P F"]


@dataclass(frozen=True)
class DenseTable:
    """Some pattern positions of each class, as a linear form in (v^2, v, 1), v = y - centre.

    The centre keeps the parts of the square small against what is left of them.
    """

    linear: Float[Tensor, "C L twoF"]
    offset: Float[Tensor, "C L"]
    centre: Float[Tensor, " F"]


def dense_table(terms: Terms, features: Int[Tensor, "C L"]) -> DenseTable:
    """Expand -(y - w)^2 / (2 Phi) into a product that one GEMM evaluates everywhere."""
    centre = terms.W.mean((0, 1))
    rows = torch.arange(terms.C, device=features.device)[:, None]
    precision, w = terms.precision[rows, features], terms.W[rows, features] - centre  # [C, L, F]
    return DenseTable(
        linear=torch.cat([-0.5 * precision, precision * w], -1),
        offset=terms.offset[rows, features] - 0.5 * (precision * w * w).sum(-1),
        centre=centre,
    )
