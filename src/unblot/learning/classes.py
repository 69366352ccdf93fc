"""Which classes are characters (Sec. 4): those with strong masks, whose ink repeats and ends inside of the pattern."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int

RELIABLE = 0.5  # a mask parameter above this uses its feature
LEAST_RELIABLE = 60  # features: fewer are no character's
CERTAIN = 0.75
LEAST_CERTAIN = 20
LEAST_SEEN = 5  # places: fewer are no repetition
LOOKED_AT = 24  # of the best instances
PLAY = 4  # pixels by which instances are moved onto each other
PRINTED = 0.35  # ink that more than half of the instances have
SPECK = 0.03  # of the largest part: smaller parts are dirt
ALIKE = 0.8  # of the largest part's mask strength: parts with weaker masks are neighbours'
STRAIGHT = 0.25
AGREED = 0.8  # correlation of an instance with its class's picture: strokes that cross anyhow agree less
SEAM = 5  # pixels: reliable features reach a little beyond the ink they stand for, or not quite
SAME = 0.9  # correlation of two pictures of one character


@dataclass(frozen=True)
class Picture:
    """How a class looks on the page: its ink in the frame of its pattern, and the box [x0, y0, x1, y1] around it."""

    ink: Float[np.ndarray, "H W"]
    box: tuple[int, int, int, int]


def strong(A: Float[np.ndarray, "C P1 P2"]) -> Bool[np.ndarray, " C"]:
    """Tell the classes whose masks use enough features for a character, and some of them nearly always."""
    reliable, certain = ((least < A).sum((1, 2)) for least in (RELIABLE, CERTAIN))
    return np.asarray((reliable >= LEAST_RELIABLE) & (certain >= LEAST_CERTAIN))


def picture(
    ink: Float[np.ndarray, "H W"], corners: Int[np.ndarray, "S 2"], A: Float[np.ndarray, "P1 P2"], stride: int
) -> Picture | None:
    """Lay instances over each other, best first; what most of them show under the mask is the character.

    None if there are too few, or if what they share is cut by the pattern's edge: a stroke, a pair, a part.
    """
    frame = (A.shape[0] * stride, A.shape[1] * stride)
    wide = np.pad(ink, PLAY)
    shape = (frame[0] + 2 * PLAY, frame[1] + 2 * PLAY)
    cut = [wide[top : top + shape[0], left : left + shape[1]] for top, left in corners[:LOOKED_AT]]
    pieces = [piece for piece in cut if piece.shape == shape]
    if len(pieces) < LEAST_SEEN:
        return None
    weight = np.asarray(cv2.resize(A, frame[::-1], interpolation=cv2.INTER_LINEAR))
    common = pieces[0][PLAY:-PLAY, PLAY:-PLAY]
    for _ in range(2):
        aligned = np.stack([_aligned(piece, common * weight) for piece in pieces])
        common = np.median(aligned, axis=0).astype(np.float32)
    own = _own_parts(common > PRINTED, weight)
    if own is None or np.median([_agreement(one, common, own) for one in aligned]) < AGREED:
        return None
    if _straight(own) and np.mean([_goes_on(one > PRINTED, own) for one in aligned]) > 0.5:
        return None
    rows, columns = np.nonzero(own)
    box = (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
    near = cv2.dilate(own.astype(np.uint8), np.ones((SEAM, SEAM), np.uint8)) > 0
    return Picture(np.where(near, common, 0), box)


def same_character(one: Picture, other: Picture) -> bool:
    """Tell whether two pictures show the same character, by their correlation where they fit best."""
    a, b = (p.ink[p.box[1] : p.box[3], p.box[0] : p.box[2]] for p in (one, other))
    shape = np.maximum(a.shape, b.shape) + 2 * PLAY
    a, b = _framed(a, shape), _framed(b, shape)
    inner = b[PLAY:-PLAY, PLAY:-PLAY]
    return float(cv2.matchTemplate(a, inner, cv2.TM_CCOEFF_NORMED).max()) >= SAME


def groups(pictures: list[Picture | None]) -> Int[np.ndarray, " C"]:
    """Give the number of the character that each class stands for, in order of the classes; -1 for none."""
    numbers = np.full(len(pictures), -1)
    known: list[Picture] = []
    for c, seen in enumerate(pictures):
        if seen is None:
            continue
        alike = [g for g, first in enumerate(known) if same_character(first, seen)]
        numbers[c] = alike[0] if alike else len(known)
        if not alike:
            known.append(seen)
    return numbers


def _aligned(piece: np.ndarray, common: np.ndarray) -> np.ndarray:
    fit = cv2.matchTemplate(piece, common.astype(np.float32), cv2.TM_CCORR)
    down, right = np.unravel_index(int(fit.argmax()), fit.shape)
    return piece[down : down + common.shape[0], right : right + common.shape[1]]


def _own_parts(printed: Bool[np.ndarray, "H W"], weight: Float[np.ndarray, "H W"]) -> Bool[np.ndarray, "H W"] | None:
    """Keep the ink under reliable features: its largest connected part, and others with masks about as strong.

    A neighbour's ink, if most neighbours have some there, lies under unreliable ones. None where the
    largest part is cut by the frame.
    """
    near = cv2.dilate((weight > RELIABLE).astype(np.uint8), np.ones((SEAM, SEAM), np.uint8)) > 0
    count, parts, stats, _ = cv2.connectedComponentsWithStats((printed & near).astype(np.uint8))
    if count == 1:
        return None
    size, cut_off = stats[:, cv2.CC_STAT_AREA], _at_the_edge(parts, count)
    size[0] = 0
    largest = int(size.argmax())
    if cut_off[largest]:
        return None
    strength = np.bincount(parts.reshape(-1), weight.reshape(-1), minlength=count) / np.maximum(size, 1)
    kept = (size >= max(SPECK * size[largest], SEAM**2)) & ~cut_off & (strength >= ALIKE * strength[largest])
    kept[0] = False
    return np.asarray(kept[parts])


def _at_the_edge(parts: np.ndarray, count: int) -> Bool[np.ndarray, " parts"]:
    edge = np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]])
    return np.bincount(edge, minlength=count) > 0


def _agreement(one: np.ndarray, common: np.ndarray, own: Bool[np.ndarray, "H W"]) -> float:
    """Correlate an instance with what all have in common, on and around the character's ink."""
    around = cv2.dilate(own.astype(np.uint8), np.ones((2 * SEAM + 1, 2 * SEAM + 1), np.uint8)) > 0
    return float(np.corrcoef(one[around], common[around])[0, 1])


def _goes_on(printed: Bool[np.ndarray, "H W"], own: Bool[np.ndarray, "H W"]) -> bool:
    """Tell whether an instance's ink goes on beyond the frame, as a pen's stroke does, not a straight letter."""
    count, parts = cv2.connectedComponents(printed.astype(np.uint8))
    held = np.bincount(parts[own], minlength=count)
    held[0] = 0
    return bool(_at_the_edge(parts, count)[held.argmax()]) if held.any() else False


def _straight(part: Bool[np.ndarray, "H W"]) -> bool:
    """Tell a line, even a bent one, by how much longer than wide it is."""
    short, long = np.sqrt(np.linalg.eigvalsh(np.cov(np.argwhere(part).T)).clip(0))
    return bool(short < STRAIGHT * long)


def _framed(ink: np.ndarray, shape: np.ndarray) -> np.ndarray:
    top, left = (shape[0] - ink.shape[0]) // 2, (shape[1] - ink.shape[1]) // 2
    return np.pad(ink, ((top, shape[0] - ink.shape[0] - top), (left, shape[1] - ink.shape[1] - left)))
