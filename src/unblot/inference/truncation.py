"""Which classes and positions a patch's posterior is computed on (Eqs. 13, 14)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unblot.errors import UsageError
from unblot.inference.batch import Batch, States
from unblot.inference.kernels import kernels_for
from unblot.model.likelihood import Terms


@dataclass(frozen=True)
class Truncation:
    """Score with the `lam` most reliable features, keep the fraction `K` of all (c, x); K = 1 is exact."""

    lam: int = 200
    K: float = 0.02

    def __post_init__(self) -> None:
        """Refuse what leaves nothing to score or to keep."""
        if self.lam < 1:
            raise UsageError(f"lambda must be at least 1, not {self.lam}; the paper uses 200")
        if not 0 < self.K <= 1:
            raise UsageError(f"K must lie in (0, 1], not {self.K}; the paper uses 0.02, and 1 is exact")


EXACT = Truncation(lam=1, K=1.0)


def reliable_features(terms: Terms, lam: int) -> Int[Tensor, "C lam"]:
    """Give P'_c, the lambda positions of each pattern with the largest mask parameters (Sec. 3), in pattern order."""
    lam = min(lam, terms.W.shape[1])
    order = terms.absent.sort(dim=1, stable=True).indices  # log(1 - a) falls as a rises
    return order[:, :lam].sort(dim=1).values


def log_score(batch: Batch, terms: Terms, features: Int[Tensor, "C L"]) -> Float[Tensor, "B C positions"]:
    """Give log S(c, x) of Eq. 13 relative to the background; with all features it is log p(c, x, Y) of Eq. 11."""
    constant = terms.prior + terms.absent.gather(1, features).sum(1)
    return kernels_for(batch.Y.device).sum_dense(batch, terms, features) + constant[:, None]  # Eq. 13


def select(S: Float[Tensor, "B C positions"], K: float) -> States:
    """Give K_n: for each patch the K C D1 D2 pairs (c, x) with the largest scores (Eq. 14)."""
    B, C, positions = S.shape
    size = max(1, round(K * C * positions))
    best = S.reshape(B, C * positions).topk(size, dim=1, sorted=False).indices.sort(dim=1).values  # Eq. 14
    n = torch.arange(B, device=S.device)[:, None].expand_as(best)
    return States(n.reshape(-1), (best // positions).reshape(-1), (best % positions).reshape(-1))
