"""Characters whose parts stand side by side: two classes that always come together, at one distance, are one character.

So do the two strokes of a quotation mark, a class with itself.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from unblot.detection.candidates import Candidates
from unblot.grid import FRAME
from unblot.learning.alike import LEAST_PARTS
from unblot.learning.windows import Shape

ALWAYS = 0.6  # of both classes: of some one part is hidden or broken
BESIDE = 20  # cells between the parts of a character, at most
SAME = 1.5  # cells between two distances that are the same


def together(
    found: Candidates, shapes: list[Shape], worth: Float[np.ndarray, " C"]
) -> tuple[Candidates, list[Shape], Float[np.ndarray, " more"]]:
    """Join the classes that always come together: instances, shapes, and the evidence that examples have."""
    gone = np.zeros(len(found.c), bool)
    for one, other in combinations_with_replacement(range(len(worth)), 2):
        first, second = (np.nonzero((found.c == c) & ~gone)[0] for c in (one, other))
        if min(len(first), len(second)) < LEAST_PARTS or not 0.5 < len(first) / len(second) < 2:
            continue
        pairs, offset = _pairs(found.corner, first, second)
        joined = _union(shapes[one].own, shapes[other].own, offset) if len(pairs) else None
        if len(np.unique(pairs)) < ALWAYS * len(np.union1d(first, second)) or joined is None:
            continue
        shape, shift = joined
        a, b = pairs.T
        gone[first] = gone[second] = True
        pair = Candidates(
            np.full(len(a), len(shapes)),
            found.corner[a] + shift,
            found.evidence[a] + found.evidence[b],
            np.minimum(found.quality[a], found.quality[b]),
        )
        shapes, worth = [*shapes, shape], np.append(worth, worth[one] + worth[other]).astype(np.float32)
        found = Candidates(
            *(np.concatenate([getattr(found, name), getattr(pair, name)]) for name in found.__dataclass_fields__)
        )
        gone = np.append(gone, np.zeros(len(a), bool))
    return found[~gone], shapes, worth


def _pairs(
    corner: Int[np.ndarray, "S 2"], first: Int[np.ndarray, " n"], second: Int[np.ndarray, " m"]
) -> tuple[Int[np.ndarray, "p 2"], Int[np.ndarray, " 2"]]:
    """Pair the members of two classes that have the most usual offset from each other, each member once."""
    near = cKDTree(corner[second]).query_ball_point(corner[first], BESIDE)
    every = np.array(
        [(a, second[k]) for a, those in zip(first, near, strict=True) for k in those if a != second[k]], int
    ).reshape(-1, 2)
    offsets = corner[every[:, 1]] - corner[every[:, 0]]
    if first[0] == second[0]:  # one class, whose left parts come first
        every, offsets = every[offsets[:, 1] > 0], offsets[offsets[:, 1] > 0]
    if not len(every):
        return every, np.zeros(2, int)
    alike = cKDTree(offsets).query_ball_point(offsets, SAME)
    usual = offsets[max(range(len(alike)), key=lambda k: len(alike[k]))]
    every = every[np.abs(offsets - usual).max(1) <= SAME]
    used: set[int] = set()
    pairs = []
    for a, b in every.tolist():
        if a not in used and b not in used:
            pairs.append((a, b))
            used |= {a, b}
    return np.array(pairs, int).reshape(-1, 2), usual


def _union(
    one: Bool[np.ndarray, "P1 P2"], other: Bool[np.ndarray, "P1 P2"], offset: Int[np.ndarray, " 2"]
) -> tuple[Shape, Int[np.ndarray, " 2"]] | None:
    """Put two shapes into one frame, in its middle; give by how much the first one's frame has to move for that."""
    places = np.concatenate([np.argwhere(one), np.argwhere(other) + offset])
    low, high = places.min(0), places.max(0) + 1
    if (high - low > np.array(FRAME)).any():
        return None
    shift = (low + high - np.array(FRAME)) // 2
    own = np.zeros(FRAME, bool)
    own[tuple((places - shift).T)] = True
    (y0, x0), (y1, x1) = (low - shift).tolist(), (high - shift).tolist()
    return Shape(own, (x0, y0, x1, y1)), shift
