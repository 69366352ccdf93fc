"""Patches of a feature map at fixed intervals, and the way from them back to the page (Sec. 4)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unblot.errors import InputError
from unblot.features import STRIDE

PATCH = (55, 40)  # rows and columns of feature vectors, as in the paper: 165 x 120 pixels
PATTERN = (40, 30)
LEARNING = (39, 31)  # rows and columns between patches: 1,440 patches on the paper's page
ENOUGH = 400  # patches to learn from
DETECTION = (PATCH[0] - PATTERN[0] + 1, PATCH[1] - PATTERN[1] + 1)  # every pattern is whole in some patch


def corners(shape: Sequence[int], D: tuple[int, int], interval: tuple[int, int]) -> Int[Tensor, "N 2"]:
    """Give where the patches of a map begin, in reading order; the last of a row or column ends at the map's edge."""
    if shape[0] < D[0] or shape[1] < D[1]:
        raise InputError(
            f"the page is too small: it must have at least {D[1] * STRIDE}x{D[0] * STRIDE} pixels for one patch"
        )
    starts = [
        sorted({*range(0, length - d + 1, step), length - d})
        for length, d, step in zip(shape, D, interval, strict=True)
    ]
    return torch.cartesian_prod(*(torch.tensor(start) for start in starts))


def learning_corners(shape: Sequence[int]) -> Int[Tensor, "N 2"]:
    """Give where the patches to learn from begin: at the paper's intervals, or closer on a small page."""
    interval, places = LEARNING, corners(shape, PATCH, LEARNING)
    while len(places) < ENOUGH and interval != DETECTION:
        interval = (max(interval[0] - 4, DETECTION[0]), max(interval[1] - 4, DETECTION[1]))
        places = corners(shape, PATCH, interval)
    return places


def cut(
    features: Float[Tensor, "G1 G2 F"], places: Int[Tensor, "N 2"], D: tuple[int, int]
) -> Float[Tensor, "N D1 D2 F"]:
    """Cut a piece of D rows and columns out of the map at each place."""
    return torch.stack([features[top : top + D[0], left : left + D[1]] for top, left in places.tolist()])


def to_pixels(place: Tensor) -> Tensor:
    """Turn rows and columns of the feature map into those of the page."""
    return place * STRIDE
