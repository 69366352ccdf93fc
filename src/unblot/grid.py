"""The whole page as one patch: ink at the scale of its characters, as cells with one feature each.

With ink itself as the feature a stroke spoils what lies under it, and nothing around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unblot.errors import UsageError
from unblot.scale import scale_factor, scaled

CELL = 2  # pixels of the scaled page
FRAME = (60, 56)  # rows and columns of a pattern: a letter with stem and tail, two and a half heights; wide ones
BLUR = 1.5  # pixels: what a cell takes in around it
LEAST_VARIANCE = 0.004  # of ink: narrower differences are the scanner's


@dataclass(frozen=True)
class InkCells:
    """The features of a model for whole pages: ink in cells, times `strength`; characters were `height` pixels high.

    Where they are `joined`, ink goes on behind all of them.
    """

    height: float
    strength: float = 1.0
    joined: bool = False

    def __post_init__(self) -> None:
        """Refuse what no page has."""
        if not self.height > 0:
            raise UsageError(f"the height of characters must be above 0, not {self.height}")
        if not self.strength > 0:
            raise UsageError(f"the strength of ink must be above 0, not {self.strength}")


@dataclass(frozen=True)
class Grid:
    """A page's ink at the scale of its characters, and the same as cells with a pattern's margin all around.

    `factor` is the scale: pixels of `ink` for each pixel of the page.
    """

    ink: Float[np.ndarray, "H W"]
    factor: float
    cells: Float[Tensor, "G1 G2 1"]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells, margins included."""
        return int(self.cells.shape[0]), int(self.cells.shape[1])

    def windows(self, values: Float[Tensor, "G1 G2"], corners: Int[np.ndarray, "N 2"]) -> Float[Tensor, "N P1 P2"]:
        """Cut frames out of a map of this grid."""
        rows, columns = torch.from_numpy(corners).to(values.device).T
        return values.unfold(0, FRAME[0], 1).unfold(1, FRAME[1], 1)[rows, columns]

    def inside(self, corners: Int[np.ndarray, "N 2"]) -> Int[np.ndarray, "N 2"]:
        """Move frames to where they lie on the grid."""
        return np.asarray(np.clip(corners, 0, np.array(self.shape) - np.array(FRAME)))

    def box(self, corner: tuple[int, int], own: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
        """Turn a box in a frame's cells into pixels of the scaled page."""
        left, top = CELL * (corner[1] - FRAME[1]), CELL * (corner[0] - FRAME[0])
        return left + CELL * own[0], top + CELL * own[1], left + CELL * own[2], top + CELL * own[3]

    def on_page(self, box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
        """Turn a box of the scaled page into one of the page; boxes of one size have one size there too."""
        left, top = round(box[0] / self.factor), round(box[1] / self.factor)
        return left, top, left + round((box[2] - box[0]) / self.factor), top + round((box[3] - box[1]) / self.factor)


def make_grid(found: Float[np.ndarray, "H W"], height: float, device: torch.device, strength: float = 1.0) -> Grid:
    """Lay the grid over a page's ink, characters being `height` pixels high, the ink made stronger by a factor."""
    factor = scale_factor(height)
    return _laid(stronger(scaled(found, factor), strength), factor, device)


def strengthened(grid: Grid, strength: float) -> Grid:
    """Make the ink of a grid stronger."""
    return grid if strength == 1 else _laid(stronger(grid.ink, strength), grid.factor, grid.cells.device)


def stronger(ink: Float[np.ndarray, "H W"], strength: float) -> Float[np.ndarray, "H W"]:
    """Multiply ink, so that faint hairlines count."""
    if strength == 1:
        return ink
    product = np.float32(strength) * ink
    return np.minimum(product, 1, out=product)


def _laid(ink: Float[np.ndarray, "H W"], factor: float, device: torch.device) -> Grid:
    cells = cv2.GaussianBlur(ink, (0, 0), BLUR)[::CELL, ::CELL]
    margins = [(margin, margin) for margin in FRAME]
    return Grid(ink, factor, torch.from_numpy(np.pad(cells, margins))[..., None].to(device))
