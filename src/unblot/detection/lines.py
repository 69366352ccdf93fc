"""The regular arrangement along lines as a prior p(c, x): learned from the page, used only where the page shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from unblot.grid import CELL
from unblot.scale import HEIGHT

TALL = HEIGHT / CELL  # cells
NEXT = 2 * TALL  # cells to the next character of a line, at most
LEVEL = 0.8 * TALL  # and up or down
LEAST_PAIRS = 0.5  # of the characters must have a next one, for a page to have lines
STRAIGHT = 0.08 * TALL  # cells that characters lie off their line, at most, for it to be one
TURNS = 5
FAR = 4 * TALL  # cells along a line in which it goes on as it was
ROUGH = 3.0  # standard deviations off the line
LEAST_PLAY = 1.5  # cells


@dataclass(frozen=True)
class Lines:
    """How far each class's frame is above the line it stands on, the lines' slope, and the spread around them."""

    above: Float[np.ndarray, " C"]
    slope: float
    spread: float


def find_lines(c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], classes: int) -> Lines | None:
    """Learn from characters that are sure how they stand on lines; None where they do not."""
    one, other = next_ones(corner)
    if len(one) < max(LEAST_PAIRS * len(c), classes):
        return None
    step = np.zeros((len(one), classes + 1))
    number = np.arange(len(one))
    np.add.at(step, (number, c[other]), 1.0)
    np.add.at(step, (number, c[one]), -1.0)
    across, down = (corner[other] - corner[one]).T[::-1]
    step[:, classes] = -across
    weight = np.ones(len(one))
    for _ in range(TURNS):  # squares, those far off counting less each time
        weighted = step * weight[:, None]
        gauge = np.eye(classes + 1) * 1e-3
        solution = np.linalg.solve(weighted.T @ step + gauge, -weighted.T @ down)
        off = np.abs(down + step @ solution)
        spread = 1.48 * float(np.median(off))
        weight = 1 / (1 + (off / max(spread, 1.0)) ** 2)
    if spread > STRAIGHT:
        return None
    above, slope = solution[:classes], float(solution[classes])
    rise = down - slope * across
    heights = np.concatenate([above[c[one]] - rise, above[c[other]] + rise])  # of the other, and of the one
    of = np.concatenate([c[other], c[one]])
    play = max(ROUGH * spread, LEAST_PLAY)
    usual = [_mode(heights[of == k], play, float(above[k])) for k in range(classes)]
    return Lines(np.array(usual), slope, spread)


def _mode(values: Float[np.ndarray, " N"], play: float, otherwise: float) -> float:
    """Give the value that most are close to: of dots, most may be dirt and stand anywhere."""
    if not len(values):
        return otherwise
    close = np.abs(values[:, None] - values) < play
    return float(values[close[close.sum(1).argmax()]].mean())


def on_a_line(
    lines: Lines,
    sure: tuple[Int[np.ndarray, " S"], Int[np.ndarray, "S 2"]],
    c: Int[np.ndarray, " N"],
    corner: Int[np.ndarray, "N 2"],
) -> Bool[np.ndarray, " N"]:
    """Tell which frames stand on a line that characters close by stand on; one does not count for itself."""

    def straightened(of: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.stack([at[:, 0] + lines.above[of] - lines.slope * at[:, 1], at[:, 1]], 1)

    play = max(ROUGH * lines.spread, LEAST_PLAY)
    stretch = np.array([FAR / play, 1.0])  # so that both distances count alike
    known, asked = straightened(*sure) * stretch, straightened(c, corner) * stretch
    near = cKDTree(known).query_ball_point(asked, FAR)
    return np.array(
        [
            any(np.abs(known[j] - place).max() > TALL / 4 or sure[0][j] != of for j in around)
            for around, place, of in zip(near, asked, c, strict=True)
        ],
        bool,
    )


def next_ones(corner: Int[np.ndarray, "S 2"]) -> tuple[Int[np.ndarray, " M"], Int[np.ndarray, " M"]]:
    """Pair each character with the next to its right."""
    pairs = (
        cKDTree(corner).query_pairs(np.hypot(NEXT, LEVEL), output_type="ndarray")
        if len(corner)
        else np.zeros((0, 2), int)
    )
    swap = corner[pairs[:, 0], 1] > corner[pairs[:, 1], 1]
    one, other = np.where(swap, pairs[:, 1], pairs[:, 0]), np.where(swap, pairs[:, 0], pairs[:, 1])
    down, across = (corner[other] - corner[one]).T
    level = (np.abs(down) < LEVEL) & (across > TALL / 8) & (across < NEXT)
    one, other, across = one[level], other[level], across[level]
    order = np.lexsort((across, one))
    _, first = np.unique(one[order], return_index=True)
    return one[order][first], other[order][first]
