"""Characters by repetition: connected parts of the ink that look alike start the classes.

Every part is looked at alone, without its neighbours, so that nothing but its own shape tells what it is like.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from unblot.grid import CELL, FRAME, Grid
from unblot.learning.alike import ALIKE, LEAST_PARTS, correlate, evenly, first_ones, repeating_area
from unblot.learning.parts import INKED, Components, Parts, draw_parts, find_components, find_parts, find_places
from unblot.learning.windows import PRINTED, SPECK, alone, around_small
from unblot.threads import side_by_side

LEVELS = (0.4, 0.2, 0.12, 0.07)  # of ink
FAINT = 1.1  # times as much must be covered for fainter ink to count: all ink covers some more when it is stronger
JOINED = 0.96  # of the parts are left, at most, where ink that fainter strokes hold together was broken
FEW = 600  # parts that are looked at to choose a level
MOST_PARTS = 100  # more teach nothing more
TAKEN = 0.3  # of a part's ink
LEAST_SAME, SAME = 3, 0.97  # parts that are as like each other as crisp impressions of one type are
FREQUENT = 0.25  # of the others' median count that a wide class has: touching letters are less frequent


@dataclass(frozen=True)
class Seed:
    """Where a class starts: the frames around its parts, best first, and the median of the parts alone."""

    corners: Int[np.ndarray, "N 2"]
    part: Float[np.ndarray, "P1 P2"]


def find_seeds(grid: Grid, components: Components, taken: Bool[np.ndarray, "G1 G2"] | None = None) -> list[Seed]:
    """Find the parts of the ink that repeat, the grid being as strong as it takes for ink of their level to count.

    Where some of the grid is taken, parts whose ink lies there start nothing, nor do crumbs. Wide parts, most of which
    are letters that touch, are looked at on their own: an m repeats nevertheless.
    """

    def repeating(wide: bool) -> list[Seed]:
        parts = find_parts(grid.ink, components, wide)
        if taken is not None:
            parts = parts[(_share(parts, grid, taken) < TAKEN) & ~_crumbs(parts, grid)]
        return seeds_of(grid, parts)

    seeds = repeating(wide=False)
    usual = np.median([len(s.corners) for s in seeds]) if seeds else 0
    return seeds + [s for s in repeating(wide=True) if len(s.corners) >= FREQUENT * usual]


def seeds_of(grid: Grid, parts: Parts) -> list[Seed]:
    """Start a class with the parts that are like each other."""
    first, _ = first_ones(parts)
    if not len(first):
        return []
    likeness, shift = correlate(parts.alone[first], parts.alone)
    nearest = likeness.argmax(0)
    seeds = []
    for c in range(len(first)):
        own = np.nonzero((nearest == c) & (likeness[c] > ALIKE))[0]
        if len(own) < LEAST_PARTS and not (len(own) >= LEAST_SAME and likeness[c, own].min() > SAME):
            continue
        own = own[np.argsort(-likeness[c, own], kind="stable")][:MOST_PARTS]
        moves = shift[c, own]
        corners = _corners(parts)[own] + moves
        aligned = [np.roll(parts.alone[k], tuple(-move), (0, 1)) for k, move in zip(own, moves, strict=True)]
        seeds.append(Seed(grid.inside(corners), np.median(aligned, axis=0).astype(np.float32)))
    return seeds


def _share(parts: Parts, grid: Grid, taken: Bool[np.ndarray, "G1 G2"]) -> Float[np.ndarray, " M"]:
    """Give the share of each part's ink that is taken."""
    frames = grid.windows(torch.from_numpy(taken).float(), grid.inside(_corners(parts))).numpy()
    return np.asarray((parts.alone * frames).sum((1, 2)) / np.maximum(parts.alone.sum((1, 2)), 1e-6))


def _crumbs(parts: Parts, grid: Grid) -> Bool[np.ndarray, " M"]:
    """Tell the parts that are faint all over, or small and do not stand alone."""
    frames = grid.windows(grid.cells[..., 0], grid.inside(_corners(parts))).cpu().numpy()
    faint = (parts.alone > PRINTED).sum((1, 2)) < SPECK
    stands = [alone(frame, around_small(ink > INKED)) for frame, ink in zip(frames, parts.alone, strict=True)]
    return np.asarray(faint | ~np.array(stands, bool))


def best_components(grid: Grid, usual: Components) -> Components:
    """Choose how faint the ink may be that holds a part together, `usual` being what that of the first level holds.

    The best level is where the parts that are like others cover most of the page: a whole letter covers more than its
    pieces, and two letters that faint dirt joins are like no others. Where fainter ink joins no parts, nothing is
    broken: thin strokes cover more when they are stronger, and that is all.
    """

    def looked_at(level: float) -> tuple[Components, float, int]:
        components = usual if level == usual.level else find_components(grid.ink, level)
        places = find_places(components)
        some = [places[k] for k in evenly(len(places), FEW)]
        parts = draw_parts(grid.ink, components.label, some, strength_at(components.level))
        return components, repeating_area(parts, len(places)), len(places)

    (_, covered, count), *fainter = side_by_side(looked_at, LEVELS)
    best, most, left = max(fainter, key=lambda one: one[1])
    return best if most > FAINT * covered and left < JOINED * count else usual


def strength_at(level: float) -> float:
    """Give the factor that makes ink of a level count; half way, on a logarithmic scale, to ink of the usual level."""
    return float((LEVELS[0] / level) ** 0.5)


def _corners(parts: Parts) -> Int[np.ndarray, "M 2"]:
    """Give the corners of the frames around parts."""
    return np.asarray(np.rint(parts.middle / CELL).astype(int) + np.array(FRAME) - np.array(FRAME) // 2)
