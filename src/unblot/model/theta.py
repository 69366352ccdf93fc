"""Theta = (W, Phi, A, pi), the parameters of the generative model (Sec. 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.errors import UsageError


@dataclass(frozen=True)
class Theta:
    """A mixture of C patterns of P1 x P2 feature vectors with F entries each.

    p(Y | Theta) = sum_c pi_c sum_x 1/(D1 D2) prod_d [ a N(y_d; w, Phi) + (1 - a) H_B(y_d) ],
    with a, w, Phi those of class c at the pattern position d - x, and a = 0 outside of the pattern.
    """

    W: Float[Tensor, "C P1 P2 F"]
    Phi: Float[Tensor, "C P1 P2 F"]
    A: Float[Tensor, "C P1 P2"]
    pi: Float[Tensor, " C"]

    def __post_init__(self) -> None:
        """Refuse values that are no parameters."""
        for name in ("W", "Phi", "A", "pi"):
            if not bool(torch.isfinite(getattr(self, name)).all()):
                raise UsageError(f"{name} holds values that are not finite; check the data it was learned from")
        if not bool((self.Phi > 0).all()):
            raise UsageError("Phi must be positive; a variance of zero has no density")
        if not bool(((self.A >= 0) & (self.A <= 1)).all()):
            raise UsageError("A must lie in [0, 1]; it holds probabilities")

    @property
    def C(self) -> int:
        """The number of classes."""
        return self.W.shape[0]

    @property
    def P(self) -> tuple[int, int]:
        """The pattern size (P1, P2)."""
        return self.W.shape[1], self.W.shape[2]

    @property
    def F(self) -> int:
        """The number of features."""
        return self.W.shape[3]

    def take(self, classes: list[int]) -> Theta:
        """Give the mixture of some of the classes alone."""
        pi = self.pi[classes]
        return Theta(self.W[classes], self.Phi[classes], self.A[classes], pi / pi.sum())

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Theta:
        """Give the same parameters on another device or in another precision."""
        return replace(
            self,
            W=self.W.to(device, dtype),
            Phi=self.Phi.to(device, dtype),
            A=self.A.to(device, dtype),
            pi=self.pi.to(device, dtype),
        )
