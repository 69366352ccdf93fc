"""How much of a pattern a match shows (Eq. 16)."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

GAMMA = 10.0  # unreliable features are weighted down by alpha^gamma


def quality(A: Float[Tensor, "S P"], mask: Float[Tensor, "S P"]) -> Float[Tensor, " S"]:
    """Give Q in [0, 1] from each match's mask parameters and mask posterior; 1 is a perfect match.

    >>> import torch
    >>> quality(torch.tensor([[1.0, 1.0, 0.0]]), torch.tensor([[1.0, 0.0, 1.0]])).tolist()
    [0.5]
    """
    weight = A**GAMMA
    distance = (weight * (A - mask) ** 2).sum(1) / weight.sum(1)  # Eq. 16
    return 1 - distance
