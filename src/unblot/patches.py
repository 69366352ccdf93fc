"""Patches of a feature map at fixed intervals, and the way from them back to the page (Sec. 4)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unblot.errors import InputError
from unblot.features import STRIDE

PATCH = (55, 40)  # rows and columns of feature vectors, as in the paper: 165 x 120 pixels
PATTERN = (40, 30)


@dataclass(frozen=True)
class Grid:
    """Where each patch lies on the feature map."""

    corners: Int[Tensor, "N 2"]

    def to_map(self, n: Int[Tensor, " S"], x: Int[Tensor, "S 2"]) -> Int[Tensor, "S 2"]:
        """Turn positions in patches into positions on the feature map."""
        return self.corners.to(x.device)[n] + x


def to_pixels(place: Tensor) -> Tensor:
    """Turn rows and columns of the feature map into those of the page."""
    return place * STRIDE


def cut(
    features: Float[Tensor, "G1 G2 F"], D: tuple[int, int], interval: tuple[int, int]
) -> tuple[Float[Tensor, "N D1 D2 F"], Grid]:
    """Cut the map into overlapping patches, in reading order; the last of a row or column ends at the map's edge."""
    if features.shape[0] < D[0] or features.shape[1] < D[1]:
        raise InputError(
            f"the page is too small: it must have at least {D[1] * STRIDE}x{D[0] * STRIDE} pixels for one patch"
        )
    starts = [
        sorted({*range(0, length - d + 1, step), length - d})
        for length, d, step in zip(features.shape[:2], D, interval, strict=True)
    ]
    corners = torch.cartesian_prod(*(torch.tensor(start) for start in starts))
    pieces = [features[top : top + D[0], left : left + D[1]] for top, left in corners.tolist()]
    return torch.stack(pieces), Grid(corners)
