"""The likelihood of a patch relative to the background (Eqs. 1-5), as tables the kernels read.

Every density is divided by H_B at its position. With r_i(y) = log N(y; w_i, Phi_i) - log H_B(y),

    log p(Y | c, x) = sum_d log H_B(y_d) + sum_i [ log(1 - a_i) + softplus(r_i(y_{i+x}) + logit a_i) ],

so that the positions a pattern does not cover, and features that tell nothing, cost nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unblot.model.theta import Theta

LEAST_A = 1e-3  # masks stay inside (0, 1): a certain feature could never be explained by dirt
NEVER = -1e4  # logit of a mask of exactly 0, which was taken off: such a feature says nothing


@dataclass(frozen=True)
class Terms:
    """What sum_i [...] above needs, pattern positions flattened to P = P1 P2 and in row-major order.

    `offset` holds logit a_i and the Gaussian's normalisation, `absent` holds log(1 - a_i), `prior` holds
    log p(c) + log p(x) for the patch size D.
    """

    W: Float[Tensor, "C P F"]
    precision: Float[Tensor, "C P F"]
    offset: Float[Tensor, "C P"]
    absent: Float[Tensor, "C P"]
    prior: Float[Tensor, " C"]
    P: tuple[int, int]
    D: tuple[int, int]
    beta: float

    @property
    def C(self) -> int:
        """The number of classes."""
        return self.W.shape[0]


def terms(theta: Theta, D: tuple[int, int], beta: float = 1.0) -> Terms:
    """Prepare Theta for patches of size D, with every probability raised to the power beta."""
    C, (P1, P2), F = theta.C, theta.P, theta.F
    off = theta.A.reshape(C, P1 * P2) == 0
    A = theta.A.reshape(C, P1 * P2).clamp(LEAST_A, 1 - LEAST_A)
    Phi = theta.Phi.reshape(C, P1 * P2, F)
    normalisation = -0.5 * (Phi.log().sum(2) + F * math.log(2 * math.pi))
    log_class = theta.pi.clamp_min(torch.finfo(theta.pi.dtype).tiny).log()  # Eq. 1
    log_position = -math.log(D[0] * D[1])  # Eq. 2
    return Terms(
        W=theta.W.reshape(C, P1 * P2, F),
        precision=beta / Phi,
        offset=(beta * (normalisation + torch.logit(A))).masked_fill(off, NEVER),  # Eq. 3, mask present
        absent=(beta * torch.log1p(-A)).masked_fill(off, 0),  # Eq. 3, mask absent
        prior=beta * (log_class + log_position),
        beta=beta,
        P=(P1, P2),
        D=D,
    )


def shifted(P: tuple[int, int], D: tuple[int, int], x: Int[Tensor, " S"]) -> Int[Tensor, "S P"]:
    """Give the flat patch index of every pattern position under the flat shifts x, cyclic in the patch (Eq. 5)."""
    i1, i2 = (torch.arange(p, device=x.device) for p in P)
    rows = (x[:, None] // D[1] + i1) % D[0]  # Eq. 5
    columns = (x[:, None] % D[1] + i2) % D[1]  # Eq. 5
    return (rows[:, :, None] * D[1] + columns[:, None, :]).reshape(len(x), P[0] * P[1])
