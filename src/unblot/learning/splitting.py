"""Classes that mix two shapes: their examples lie in two clouds, those of one character in one, however worn it is.

Any cloud can be cut in two. What tells two clouds is how far apart the halves of a cut are for their width, measured on
examples that the cut was not made from: halves of one cloud overlap, and two clouds do not. Crisp type lies in clouds
so small that traces of the scanner part them; those look the same nevertheless.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.grid import BLUR, CELL, FRAME, LEAST_VARIANCE, Grid
from unblot.learning.seeds import Seed
from unblot.learning.windows import Shape, grown
from unblot.threads import side_by_side

APART = 0.27  # width over distance; a cut through one round cloud has 0.38, the best of many cuts about 0.3
SAME, SURELY = 0.95, 0.967  # correlation of two shapes that are the same, and where MANY examples tell
MANY = 20  # the mean of fewer is not so sure
CLEARER = 3.0  # how much farther the examples of one group may be from agreeing than those of the other
UNWORN = 0.2  # width over distance where wear is taken out: pure classes have 0.214 and more, n with u 0.19
UNWORN_SMALL = 0.27  # the same of small marks: pure classes have 0.28 and more, full stops with commas 0.255
FARTHER, AS_CLEAR = 0.22, 2.0  # the same of a small group that was looked for
LEAST = 8  # examples of a shape
PLAY = 1  # pixels by which examples are moved onto each other
DIRECTIONS, SHARES = 8, (0.25, 0.5, 0.75)  # cuts tried: across the widest directions, that share on one side
STEPS = 20
FOLDS = 5
INKED, MOSTLY = 0.3, 0.75  # ink of a cell that counts, and the share of a group that has it, or has not
STROKE = 3  # cells
CRISP, SOMEWHERE = 0.02, 0.2  # 1 - correlation with their shape, of crisp examples; ink by which shapes differ there
UNUSUAL = 0.5  # of ink: dirt is not farther away than this


def split(grid: Grid, seeds: list[Seed], shapes: list[Shape]) -> list[Seed]:
    """Part the classes that mix shapes, again and again until none does."""
    rows, columns = (CELL * margin + PLAY for margin in FRAME)
    blurred = cv2.GaussianBlur(grid.ink, (0, 0), BLUR)
    page = cv2.copyMakeBorder(blurred, rows, rows, columns, columns, cv2.BORDER_CONSTANT, value=0.0)

    def parted(seed: Seed, near: Bool[np.ndarray, "P1 P2"]) -> list[Seed]:
        frames = _aligned(page, seed.corners, near)
        side = _two_groups(frames[:, near], np.argwhere(near))
        if side is None:
            return [seed]
        parts = [np.where(near, np.median(frames[one], axis=0), 0).astype(np.float32) for one in (side, ~side)]
        return [*parted(Seed(seed.corners[side], parts[0]), near), *parted(Seed(seed.corners[~side], parts[1]), near)]

    pure = side_by_side(lambda one: parted(one[0], enclosed(one[1].own)), zip(seeds, shapes, strict=True))
    return list(itertools.chain.from_iterable(pure))


def enclosed(own: Bool[np.ndarray, "P1 P2"]) -> Bool[np.ndarray, "P1 P2"]:
    """Take in what lies between a character's ink, where another character may have some, but no neighbour."""
    left, right = (np.maximum.accumulate(side, 1) for side in (own, own[:, ::-1]))
    above, below = (np.maximum.accumulate(side, 0) for side in (own, own[::-1]))
    return np.asarray((left & right[:, ::-1]) | (above & below[::-1]) | grown(own, 1))


def _aligned(
    page: Float[np.ndarray, "H W"], corners: Int[np.ndarray, "N 2"], near: Bool[np.ndarray, "P1 P2"]
) -> Float[np.ndarray, "N P1 P2"]:
    """Cut frames out of the blurred page, each moved by single pixels to where it is most like all of them."""
    rows, columns = (CELL * length for length in FRAME)
    pieces = [page[y : y + rows + 2 * PLAY, x : x + columns + 2 * PLAY] for y, x in CELL * corners]
    room = np.stack(pieces)
    shifts = [(i, j) for i in range(2 * PLAY + 1) for j in range(2 * PLAY + 1)]
    moved = np.stack([room[:, i : i + rows : CELL, j : j + columns : CELL] for i, j in shifts])
    cells, number = moved[:, :, near], np.arange(len(corners))
    length = np.maximum(np.linalg.norm(cells, axis=2), 1e-6)
    best = np.full(len(corners), shifts.index((PLAY, PLAY)))
    for _ in range(2):
        best = (cells @ np.median(cells[best, number], axis=0) / length).argmax(0)
    return np.asarray(moved[best, number])


def _two_groups(cells: Float[np.ndarray, "N K"], places: Int[np.ndarray, "K 2"]) -> Bool[np.ndarray, " N"] | None:
    """Give the cut between two clouds that are two shapes, None where there is only one."""
    if len(cells) < 2 * LEAST:
        return None
    usual = np.clip(cells - np.median(cells, axis=0), -UNUSUAL, UNUSUAL)
    for starts, apart, clearer in ((_across(usual), APART, CLEARER), (_together(cells, places), FARTHER, AS_CLEAR)):
        side, width = _best_cut(usual, starts)
        if side is not None and width < apart and _two_shapes(cells[side], cells[~side], places, clearer):
            return side
    return None


def two_worn_shapes(cells: Float[np.ndarray, "N K"], small: bool) -> Bool[np.ndarray, " N"] | None:
    """Give the cut between two shapes in the cells of impressions whose wear is taken out; None where there is one."""
    if len(cells) < 2 * LEAST:
        return None
    usual = np.clip(cells - np.median(cells, axis=0), -UNUSUAL, UNUSUAL)
    side, width = _best_cut(usual, _across(usual))
    return side if width < (UNWORN_SMALL if small else UNWORN) else None


def _best_cut(
    usual: Float[np.ndarray, "N K"], starts: Iterable[Bool[np.ndarray, " N"]]
) -> tuple[Bool[np.ndarray, " N"] | None, float]:
    """Give the cut, from some starts, whose halves are farthest apart for their width, and that width."""
    cuts = {side.tobytes(): side for side in map(functools.partial(_settled, usual), starts) if side is not None}
    width = {key: _width(usual, side) for key, side in cuts.items()}
    best = min(width, key=lambda key: width[key], default=None)
    return (None, np.inf) if best is None else (cuts[best], width[best])


def _two_shapes(
    one: Float[np.ndarray, "N K"], other: Float[np.ndarray, "M K"], places: Int[np.ndarray, "K 2"], clearer: float
) -> bool:
    """Tell whether two groups differ, and each agrees with itself about as well: examples under dirt do not.

    Crisp shapes that are the same all over but for one place, where ink is there or not, differ as well: what a scanner
    does, it does along all edges.
    """
    usual = [np.median(group, axis=0) for group in (one, other)]
    astray = [1 - np.median(_correlation(group, own)) for group, own in zip((one, other), usual, strict=True)]
    same = SURELY if min(len(one), len(other)) >= MANY else SAME
    there = np.zeros(places.max(0) + 1, np.float32)
    there[tuple(places.T)] = usual[0] - usual[1]
    apart = max(astray) < CRISP and np.abs(cv2.blur(there, (STROKE, STROKE))).max() > SOMEWHERE
    differ = apart or _correlation(usual[0][None], usual[1])[0] < same
    return bool(differ and max(astray) < clearer * min(astray))


def _correlation(cells: Float[np.ndarray, "N K"], usual: Float[np.ndarray, " K"]) -> Float[np.ndarray, " N"]:
    a, b = cells - cells.mean(1, keepdims=True), usual - usual.mean()
    return np.asarray(a @ b / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b), 1e-6))


def _across(cells: Float[np.ndarray, "N K"]) -> Iterator[Bool[np.ndarray, " N"]]:
    """Cut across each of the widest directions."""
    along = np.linalg.svd(cells - cells.mean(0), full_matrices=False)[0][:, :DIRECTIONS]
    for direction in along.T:
        for share in SHARES:
            yield direction > np.quantile(direction, share)


def _together(cells: Float[np.ndarray, "N K"], places: Int[np.ndarray, "K 2"]) -> Iterator[Bool[np.ndarray, " N"]]:
    """Cut by the place that tells most about places farther away than a stroke is wide.

    A few examples of another letter have ink in common that the many lack, or lack it together; dirt that lies in one
    place of some examples lies anywhere else.
    """
    inked = (cells > INKED).astype(np.float32)
    count = inked.sum(0)
    some = np.nonzero((count >= LEAST) & (len(cells) - count >= LEAST))[0]
    if not len(some):
        return
    both = inked[:, some].T @ inked
    with_it, without = both / count[some, None], (count - both) / (len(cells) - count[some, None])
    told = (np.maximum(with_it, without) >= MOSTLY) & (np.minimum(with_it, without) <= 1 - MOSTLY)
    far = np.abs(places[some, None] - places).max(2) >= STROKE
    most = int((told & far).sum(1).argmax())
    yield inked[:, some[most]] > 0


def _settled(cells: Float[np.ndarray, "N K"], side: Bool[np.ndarray, " N"]) -> Bool[np.ndarray, " N"] | None:
    """Move every example to the half that it is like, until none moves; None where a half gets lost."""
    for _ in range(STEPS):
        if min(side.sum(), (~side).sum()) < LEAST:
            return None
        moved = _between(cells, side, cells) > 0
        if (moved == side).all():
            return np.asarray(side ^ side[0])
        side = moved
    return None


def _between(
    cells: Float[np.ndarray, "N K"], side: Bool[np.ndarray, " N"], of: Float[np.ndarray, "M K"]
) -> Float[np.ndarray, " M"]:
    """Give how much more some are like the one half than like the other: log of the ratio of two Gaussians."""
    of_one, count = side.astype(cells.dtype), int(side.sum())
    one, other = of_one @ cells / count, (1 - of_one) @ cells / (len(side) - count)
    within = np.einsum("nk,nk->k", cells, cells) - count * one**2 - (len(side) - count) * other**2
    return np.asarray((of - (one + other) / 2) @ ((one - other) / (within / len(side) + LEAST_VARIANCE)))


def _width(cells: Float[np.ndarray, "N K"], side: Bool[np.ndarray, " N"]) -> float:
    """Give the width of the halves over their distance, for examples that were left out when the halves were fitted."""
    fold = _folds(side)
    value = np.empty(len(cells))
    for k in range(FOLDS):
        out = fold == k
        value[out] = _between(cells[~out], side[~out], cells[out])
    apart = value[side].mean() - value[~side].mean()
    width = np.sqrt((value[side].var() * side.sum() + value[~side].var() * (~side).sum()) / len(side))
    return float(width / apart) if apart > 0 else np.inf


def _folds(side: Bool[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """Deal out both halves evenly."""
    fold = np.empty(len(side), int)
    for half in (side, ~side):
        fold[half] = np.arange(half.sum()) % FOLDS
    return fold
