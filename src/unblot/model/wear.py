"""Impressions of one type differ: in where and how they stand, in tone, and in how thick their strokes are.

An impression of class c shows the ink y = w + V f + noise, f ~ N(0, 1) for each of its ways to differ, the noise with
the variances Phi. What differs, differs all over the character or part of it, so that worn type is told apart by what
wear does not explain. The ways V follow from the pattern w itself: its slopes, and its ink.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

WAYS = 20  # in which impressions of a type differ, at most
LEAST_WAY = 0.25  # standard deviations of the noise, over all cells, that a way must make
PATCH = 11  # cells: where strokes are thick or pale in one place, they are so that far around
UNIT = 12  # cells from the middle at which turning and stretching are measured


@dataclass(frozen=True)
class Wear:
    """How far impressions differ on a page: standard deviations, in cells and in shares of the ink.

    `moved` by less than a cell; `turned` and stretched, at UNIT cells from the middle; `thick` strokes and their
    `tone`, all over the character; and in one part of it, where it is `warped` too.
    """

    moved: float = 0.4
    turned: float = 0.3
    thick: float = 0.4
    tone: float = 0.2
    thick_here: float = 0.4
    tone_here: float = 0.15
    warped: float = 0.5


@dataclass(frozen=True)
class Pattern:
    """A class as its impressions show it, on the cells that it covers: N(y; w, V V' + diag(sigma^2)).

    `veil` is the share of impressions in which something lies over a cell, as neighbours do; `whole` is
    1 + V' diag(sigma^-2) V.
    """

    rows: Int[np.ndarray, " D"]
    columns: Int[np.ndarray, " D"]
    w: Float[np.ndarray, " D"]
    sigma: Float[np.ndarray, " D"]
    veil: Float[np.ndarray, " D"]
    V: Float[np.ndarray, "D Q"]
    whole: Float[np.ndarray, "Q Q"]


def make_pattern(
    W: Float[np.ndarray, "P1 P2"],
    covered: Bool[np.ndarray, "P1 P2"],
    sigma: Float[np.ndarray, " D"],
    veil: Float[np.ndarray, " D"],
    wear: Wear,
) -> Pattern:
    """Give the pattern with a mean, on the cells that it covers, with the noise and the veil that are left there."""
    rows, columns = np.nonzero(covered)
    ways, sizes = ways_to_differ(W, covered, wear)
    _, size, way = np.linalg.svd(ways * sizes[:, None] / sigma, full_matrices=False)
    kept = min(WAYS, int((size > LEAST_WAY).sum()))
    V = np.zeros((len(sigma), WAYS), np.float32)
    V[:, :kept] = (size[:kept, None] * way[:kept] * sigma).T
    whole = np.eye(WAYS, dtype=np.float32) + V.T @ (V / np.square(sigma)[:, None].astype(np.float32))
    w, noise, dark = (v.astype(np.float32) for v in (W[covered], sigma, veil))
    return Pattern(rows, columns, w, noise, dark, V, whole)


def ways_to_differ(
    W: Float[np.ndarray, "P1 P2"], covered: Bool[np.ndarray, "P1 P2"], wear: Wear
) -> tuple[Float[np.ndarray, "K D"], Float[np.ndarray, " K"]]:
    """Give how ink changes in each way that impressions differ, and how far they do."""
    down, right = (slope[covered] for slope in np.gradient(W))
    ink, edge = W[covered], np.hypot(down, right)
    rows, columns = np.nonzero(covered)
    y, x = (rows - rows.mean()) / UNIT, (columns - columns.mean()) / UNIT
    ways = [down, right, down * x - right * y, right * x, down * y, edge, ink]
    sizes = [wear.moved] * 2 + [wear.turned] * 3 + [wear.thick, wear.tone]
    parts = _parts(rows, columns)
    if len(parts) > 1:
        for part in parts:
            ways += [part * edge, part * ink, part * down, part * right]
            sizes += [wear.thick_here, wear.tone_here, wear.warped, wear.warped]
    return np.array(ways, np.float32), np.array(sizes, np.float32)


def _parts(rows: Int[np.ndarray, " D"], columns: Int[np.ndarray, " D"]) -> list[Float[np.ndarray, " D"]]:
    """Give the parts of a character, each fading into the next."""

    def middles(places: Int[np.ndarray, " D"]) -> Float[np.ndarray, " n"]:
        length = int(np.ptp(places))
        count = max(1, round(length / PATCH))
        return np.asarray(places.min() + length * (np.arange(count) + 0.5) / count)

    spread = 0.7 * PATCH
    return [
        np.exp(-0.5 * (((rows - row) / spread) ** 2 + ((columns - column) / spread) ** 2))
        for row in middles(rows)
        for column in middles(columns)
    ]
