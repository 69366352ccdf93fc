"""Characters by repetition: connected parts of the ink that look alike start the classes.

Every part is looked at alone, without its neighbours, so that nothing but its own shape tells what it is like.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

from unblot.grid import BLUR, CELL, FRAME, Grid
from unblot.learning.cutouts import representatives
from unblot.scale import HEIGHT

INKED = 0.4
TALLEST, WIDEST = 2.0, 1.65  # of a character's height: larger parts do not fit into a frame
LEAST_AREA, LEAST_LENGTH = 0.012, 0.12  # of the height squared, of the height: smaller parts are grain
SEAM = 4  # pixels around a part whose faint ink still is its own
MOST = 1500  # parts compared with each other
MOST_CLASSES = 150
DIFFERENT = 0.6  # correlation of parts that have nothing to do with each other
ALIKE = 0.8  # correlation of a part with its class's first
LEAST_GAIN = 1.5  # a class starts where one or two parts more are as like it as a part is to itself
LEAST_PARTS = 4  # fewer are no repetition
MOST_PARTS = 100  # more teach nothing more
STACK = 0.3  # of a character's height: the widest gap between a letter and its dots
SMALLER = 0.6  # area of a dot, of its letter's, at most
ABOVE = 0.5  # share of its width that a dot has above or below its letter
SHIFTS = 2  # pairs of cells by which two parts may be moved against each other


@dataclass(frozen=True)
class Seed:
    """Where a class starts: the frames around its parts, best first, and the median of the parts alone."""

    corners: Int[np.ndarray, "N 2"]
    part: Float[np.ndarray, "P1 P2"]


def find_seeds(grid: Grid, seed: int) -> list[Seed]:
    """Find the parts of the ink that repeat."""
    middles, alone = _parts(grid.ink)
    if len(alone) < LEAST_PARTS:
        return []
    some = np.sort(np.random.default_rng(seed).permutation(len(alone))[:MOST])
    alike, _ = _correlate(alone[some], alone[some])
    first = some[representatives(np.clip((alike - DIFFERENT) / (1 - DIFFERENT), 0, 1) ** 2, MOST_CLASSES, LEAST_GAIN)]
    if not len(first):
        return []
    likeness, shift = _correlate(alone[first], alone)
    nearest = likeness.argmax(0)
    seeds = []
    for c in range(len(first)):
        own = np.nonzero((nearest == c) & (likeness[c] > ALIKE))[0]
        if len(own) < LEAST_PARTS:
            continue
        own = own[np.argsort(-likeness[c, own], kind="stable")][:MOST_PARTS]
        moves = shift[c, own]
        corners = np.rint(middles[own] / CELL).astype(int) + moves + np.array(FRAME) - np.array(FRAME) // 2
        aligned = [np.roll(alone[k], (-down, -right), (0, 1)) for k, (down, right) in zip(own, moves, strict=True)]
        seeds.append(Seed(grid.inside(corners), np.median(aligned, axis=0).astype(np.float32)))
    return seeds


def _parts(ink: Float[np.ndarray, "H W"]) -> tuple[Int[np.ndarray, "M 2"], Float[np.ndarray, "M P1 P2"]]:
    """Give the middle of each part that may be a character, and its cells with nothing else around.

    What is small and stands close above or below a larger part, as dots do, belongs to it.
    """
    _, labels, stats, _ = cv2.connectedComponentsWithStats((ink > INKED).astype(np.uint8))
    width, height, area = (stats[:, at] for at in (cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT, cv2.CC_STAT_AREA))
    fits = (height < TALLEST * HEIGHT) & (width < WIDEST * HEIGHT)
    likely = fits & (area > LEAST_AREA * HEIGHT**2) & (np.maximum(height, width) > LEAST_LENGTH * HEIGHT)
    likely[0] = False
    numbers = np.nonzero(likely)[0]
    owner = _owner(stats[numbers])
    middles, alone = [], []
    for first in np.unique(owner):
        members = numbers[owner == first]
        corner, end = stats[members, :2].min(0), (stats[members, :2] + stats[members, 2:4]).max(0)
        left, top, right, bottom = (int(v) for v in (*corner, *end))
        middles.append(((top + bottom) // 2, (left + right) // 2))
        alone.append(_alone(ink, labels, members, (top, left, bottom, right)))
    return np.array(middles, int).reshape(-1, 2), np.array(alone, np.float32).reshape(-1, *FRAME)


def _owner(stats: Int[np.ndarray, "M 5"]) -> Int[np.ndarray, " M"]:
    """Give the part that each part belongs to, mostly itself."""
    owner = np.arange(len(stats))
    if not len(stats):
        return owner
    left, top, width, height, area = stats.T
    middle = np.stack([left + width / 2, top + height / 2], 1)
    for one, near in enumerate(cKDTree(middle).query_ball_point(middle, TALLEST * HEIGHT)):
        best = STACK * HEIGHT
        for other in near:
            shared = min(left[one] + width[one], left[other] + width[other]) - max(left[one], left[other])
            gap = max(top[one], top[other]) - min(top[one] + height[one], top[other] + height[other])
            higher = max(top[one] + height[one], top[other] + height[other]) - min(top[one], top[other])
            smaller = area[one] < SMALLER * area[other] and higher < TALLEST * HEIGHT
            if smaller and shared >= ABOVE * width[one] and 0 <= gap < best:
                best, owner[one] = gap, other
    for _ in range(3):
        owner = owner[owner]
    return owner


def _alone(ink: np.ndarray, labels: np.ndarray, members: np.ndarray, place: tuple[int, int, int, int]) -> np.ndarray:
    """Draw parts in the middle of an empty frame."""
    top, left, bottom, right = place
    shape = (FRAME[0] * CELL, FRAME[1] * CELL)
    y, x = (top + bottom) // 2 - shape[0] // 2, (left + right) // 2 - shape[1] // 2
    rows = slice(max(0, top - SEAM, y), min(ink.shape[0], bottom + SEAM, y + shape[0]))
    columns = slice(max(0, left - SEAM, x), min(ink.shape[1], right + SEAM, x + shape[1]))
    around = labels[rows, columns]
    own = (around == 0) | (np.isin(around, members) if len(members) > 1 else around == members[0])
    picture = np.zeros(shape, np.float32)
    inner = picture[rows.start - y : rows.stop - y, columns.start - x : columns.stop - x]
    inner[:] = np.where(own, ink[rows, columns], 0)
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), BLUR)[::CELL, ::CELL])


def _correlate(
    still: Float[np.ndarray, "C P1 P2"], moved: Float[np.ndarray, "N P1 P2"]
) -> tuple[Float[np.ndarray, "C N"], Int[np.ndarray, "C N 2"]]:
    """Correlate every two pictures, the second moved to where it fits best; give by how many cells it was."""
    a, b = (
        np.stack([cv2.resize(p, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) for p in x]) for x in (still, moved)
    )
    (_, rows, columns), flat = b.shape, a.reshape(len(a), -1)
    flat = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-6)
    norm = np.maximum(np.linalg.norm(b.reshape(len(b), -1), axis=1), 1e-6)
    wide = np.pad(b / norm[:, None, None], ((0, 0), (SHIFTS, SHIFTS), (SHIFTS, SHIFTS)))
    best = np.full((len(a), len(b)), -1, np.float32)
    shift = np.zeros((len(a), len(b), 2), int)
    for down in range(2 * SHIFTS + 1):
        for right in range(2 * SHIFTS + 1):
            fit = flat @ wide[:, down : down + rows, right : right + columns].reshape(len(b), -1).T
            better = fit > best
            best[better] = fit[better]
            shift[better] = 2 * (down - SHIFTS), 2 * (right - SHIFTS)
    return best, shift
