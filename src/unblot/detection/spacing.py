"""How close the ink of neighbours comes on a line, as a prior p(c, x) of two: learned from the page's own characters.

A letter that is read as two smaller ones has them closer together than type ever sets them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.detection.lines import next_ones
from unblot.inference.kernels_wear import ink_gaps

CLOSEST, FARTHEST = -20, 10  # cells
ENOUGH = 100  # neighbours that tell how close they come
USUAL = 0.1  # of them are so close: who is farther apart costs nothing
WEIGHT = 30.0  # evidence for each time that neighbours so close are rarer by e
UNSEEN = 0.5  # neighbours closer than all that were seen


@dataclass(frozen=True)
class Sides:
    """Where the ink of each class's rows begins and ends in its frame."""

    left: Int[np.ndarray, "C P1"]
    right: Int[np.ndarray, "C P1"]

    def gaps(
        self,
        c: Int[np.ndarray, " S"],
        corner: Int[np.ndarray, "S 2"],
        one: Int[np.ndarray, " p"],
        other: Int[np.ndarray, " p"],
    ) -> Int[np.ndarray, " p"]:
        """Give how many cells of paper lie between the ink of some and that of others to their right, at least."""
        gaps = np.empty(len(one), np.int64)
        ink_gaps(self.left, self.right, c, corner, one, other, FARTHEST, gaps)
        return gaps


@dataclass(frozen=True)
class Spacing:
    """The share of neighbours that come as close as each number of cells, or closer, and where their ink ends."""

    share: Float[np.ndarray, " G"]
    sides: Sides

    def closer(self, gaps: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Give the share of neighbours that come as close as some do, or closer."""
        return np.asarray(self.share[np.clip(gaps, CLOSEST, FARTHEST) - CLOSEST])

    def cost(self, gaps: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Give the evidence that it costs to stand that close, negative."""
        return np.asarray(WEIGHT * np.log(np.minimum(self.closer(gaps) / USUAL, 1)), np.float32)


def sides_of(own: Bool[np.ndarray, "C P1 P2"]) -> Sides:
    """Give where the ink of classes' rows begins and ends; far to the right and to the left where a row has none."""
    wide = own.shape[2]
    none = ~own.any(2)
    left, right = own.argmax(2), wide - 1 - own[:, :, ::-1].argmax(2)
    return Sides(np.where(none, 10 * wide, left), np.where(none, -10 * wide, right))


def crowding(c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], sides: Sides) -> Float[np.ndarray, " S"]:
    """Give for each character the share of all neighbours whose ink overlaps as much as with its own; 1 for none."""
    one, other = next_ones(corner)
    gaps = sides.gaps(c, corner, one, other)
    spacing = _learned(gaps, sides)
    shares = np.ones(len(c))
    if spacing is not None:
        near = np.where(gaps < 0, spacing.closer(gaps), 1)
        np.minimum.at(shares, one, near)
        np.minimum.at(shares, other, near)
    return shares


def learn_spacing(c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], sides: Sides) -> Spacing | None:
    """Learn from characters how close neighbours come; None where too few stand side by side."""
    return _learned(sides.gaps(c, corner, *next_ones(corner)), sides)


def _learned(gaps: Int[np.ndarray, " p"], sides: Sides) -> Spacing | None:
    gaps = gaps[gaps < FARTHEST]
    if len(gaps) < ENOUGH:
        return None
    closer = np.array([(gaps <= gap).sum() for gap in range(CLOSEST, FARTHEST + 1)])
    return Spacing((closer + UNSEEN) / (len(gaps) + 1), sides)
