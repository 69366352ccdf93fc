"""Writing and dirt told apart where nothing is known: marks that look like writing, and stand where writing stands.

A letter that a pen's stroke crosses is one part with the stroke. What is longer and straighter than a letter can be is
taken for the stroke; what is left of the part is looked at once more, piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from unblot.connected import connected

Box = tuple[int, int, int, int]

KEPT = "unlearned mark on a text line"

INKED = 0.4
HALF, STRONG = 0.5, 90  # of a pale page's strong ink, that percentile of the characters', is ink too
FAINT = 0.08  # ink below this is the paper's grain
OWNED = 0.5  # of a part's pixels: then it is a character's
SMALLEST, LARGE, TALLEST, WIDEST = 0.08, 2.2, 4.0, 3.0  # of a character's height: what may be writing, or a heading's
THIN, THICK = 0.4, 3.0  # of the characters' stroke width
PALE = 0.65  # of the characters' ink
ALONG, LEVEL = 4.0, 0.6  # heights to the next character of the same line, along it and up or down
ROW, APART, EVENLY = 5, 2.0, 0.25  # marks that make a row of their own; heights between them, and up or down
CRUMB, BESIDE = 0.25, 0.1  # heights: what is no larger, and no farther from a character, has broken off it
HIDDEN = 0.1  # of a part's pixels that may lie under a blot
NOTE, BROAD = 0.5, 2.0  # heights that a note has at least, stroke widths that its lines have at most
STRUCK = 0.1  # of the characters' ink that may lie over them, for a page to be looked at for notes
LESS = 3.0  # times the ink of notes must lie over characters, for these notes to be strokes as well
HALO = 3  # pixels around ink that are still its own
PIECE, NEXT = 0.35, 1.5  # heights: the least piece of a letter, and how far from others it stands
LONG = 2.0  # heights: no letter has a straight stroke of that length
COARSE, SOME = 16, 0.2  # pixels that a character is high where long strokes are looked for, and ink that counts there
ANGLES = 24
STRAIGHT, UPRIGHT = 0.4, 0.9  # width over length of a line, and its rise: the ends of strokes lie at any angle
CROSSED = 2.0  # stroke widths between pieces of one letter
FLAT, WIDE, BELOW = 0.5, 4.0, 0.5  # of an underline: height, width over height, and heights below characters
SLANT = 0.05  # of its width that an underline may rise or fall besides
UNDER = 0.4  # of its width that characters stand above


@dataclass(frozen=True)
class Marks:
    """Boxes of the unknown marks that are kept and of those that are not, and the pixels that stay as they are.

    `clean` says that nothing larger than a crumb is dirt.
    """

    kept: list[Box]
    removed: list[Box]
    stays: Bool[np.ndarray, "H W"]
    clean: bool


@dataclass(frozen=True)
class InkParts:
    """Connected parts of ink, 0 being none: where, their boxes, areas, half the width of their strokes, mean ink."""

    label: Int[np.ndarray, "H W"]
    boxes: Int[np.ndarray, "M 4"]
    area: Int[np.ndarray, " M"]
    stroke: Float[np.ndarray, " M"]
    strength: Float[np.ndarray, " M"]

    @property
    def width(self) -> Int[np.ndarray, " M"]:
        """Pixels from left to right."""
        return np.asarray(self.boxes[:, 2] - self.boxes[:, 0])

    @property
    def tall(self) -> Int[np.ndarray, " M"]:
        """Pixels from top to bottom."""
        return np.asarray(self.boxes[:, 3] - self.boxes[:, 1])

    def share(self, mask: Bool[np.ndarray, "H W"]) -> Float[np.ndarray, " M"]:
        """Give how much of each part lies under a mask."""
        return np.asarray(np.bincount(self.label[mask], minlength=len(self.area)) / self.area)


@dataclass(frozen=True)
class _Hand:
    """What the page's writing is like: the height of its characters, half the width of its strokes, its palest ink."""

    height: float
    stroke: float
    palest: float


def tell_marks(
    ink: Float[np.ndarray, "H W"],
    own: Bool[np.ndarray, "H W"],
    certain: Bool[np.ndarray, "H W"],
    hidden: Bool[np.ndarray, "H W"],
    known: list[Box],
    height: float,
) -> Marks:
    """Tell writing that no dirt touches, known or not, and what dirt left of unknown writing, from the dirt.

    `own` are the pixels of characters, `certain` those of the certain ones.
    """
    strong = np.percentile(np.append(ink[own & (ink > FAINT)], 1.0), STRONG)
    inked = ink > min(INKED, HALF * float(strong))
    parts = ink_parts(inked, ink)
    large = np.maximum(parts.width, parts.tall) > SMALLEST * height
    large[0] = False
    owned = parts.share(own & inked) > OWNED
    sure = large & owned
    stroke = float(np.median(parts.stroke[sure])) if sure.any() else height / 12
    palest = PALE * float(np.median(parts.strength[sure])) if sure.any() else 0.0
    hand = _Hand(height, stroke, palest)
    characters = np.array(known, np.int64).reshape(-1, 4)
    writing = large & _like_writing(parts, hand, TALLEST) & (parts.share(hidden & inked) < HIDDEN)
    writing[writing] = _on_a_line(parts.boxes[writing], characters, height)
    crumbs = large & (np.maximum(parts.width, parts.tall) < CRUMB * height) & (parts.strength > palest)
    beside = _grown(own, round(BESIDE * height))
    writing |= crumbs & (parts.share(beside & inked) > OWNED)
    unknown = large & ~writing & (parts.share(hidden & inked) < HIDDEN)
    notes, lines = _notes(parts, unknown, own, certain, ink, characters, hand)
    writing |= notes
    written = writing[parts.label]
    dirt = inked & ~written
    pieces = _pieces(dirt, own, ink, hidden, np.concatenate([characters, parts.boxes[writing]]), hand)
    pieces |= _grown(lines, 1) & ~(dirt & own)
    stays = (_grown(written, HALO) & ~(dirt & own)) | (beside & ~own & ~_grown(dirt, HALO))
    gone = _components(dirt & ~own & ~pieces)[1][1:]
    size = (gone[:, 2:] - gone[:, :2]).max(1)
    kept = np.concatenate([parts.boxes[large & ~owned & writing], _components(pieces)[1][1:]])
    clean = bool((size < CRUMB * height).all())
    return Marks(_boxes(kept), _boxes(gone[size > SMALLEST * height]), stays | pieces, clean)


def _notes(
    parts: InkParts,
    unknown: Bool[np.ndarray, " M"],
    own: Bool[np.ndarray, "H W"],
    certain: Bool[np.ndarray, "H W"],
    ink: Float[np.ndarray, "H W"],
    known: Int[np.ndarray, "K 4"],
    hand: _Hand,
) -> tuple[Bool[np.ndarray, " M"], Bool[np.ndarray, "H W"]]:
    """Give the drawn marks that lie over no character, and underlines, where more is drawn beside characters than over.

    On such a page they are notes, rings and rules; where pen strokes lie over characters, these are strokes too. What
    is not certain may be a piece of a note: the upper end of a ring looks like a dash. It may be a letter that touches
    its underline as well.
    """
    owned = parts.share(certain)
    over = unknown & (owned > 0)
    nothing = np.zeros_like(unknown), np.zeros_like(certain)
    if (parts.area * (1 - owned))[over].sum() > STRUCK * (parts.area * owned)[1:].sum():
        return nothing
    drawn = _drawn(parts, hand) & (parts.stroke < BROAD * hand.stroke)
    free = unknown & drawn & (np.maximum(parts.width, parts.tall) > NOTE * hand.height) & (owned == 0)
    long = free & (np.maximum(parts.width, parts.tall) > LONG * hand.height)
    free[long] = [_axis(parts, k) is None for k in np.nonzero(long)[0].tolist()]
    left = (unknown & ~free)[parts.label] & ~certain
    lines = _underlines(left, ink, known, hand) | _underlines(left & ~own, ink, known, hand)
    struck = (over[parts.label] & left & ~lines).sum()
    return (free, lines) if struck < LESS * (parts.area[free].sum() + lines.sum()) else nothing


def _drawn(parts: InkParts, hand: _Hand) -> Bool[np.ndarray, " M"]:
    """Tell the parts with strokes and ink like the writing's."""
    alike = (parts.stroke > THIN * hand.stroke) & (parts.stroke < THICK * hand.stroke)
    return np.asarray(alike & (parts.strength > hand.palest))


def _grown(mask: Bool[np.ndarray, "H W"], by: int) -> Bool[np.ndarray, "H W"]:
    return np.asarray(cv2.dilate(mask.astype(np.uint8), np.ones((2 * by + 1, 2 * by + 1), np.uint8)) > 0)


def _boxes(corners: Int[np.ndarray, "M 4"]) -> list[Box]:
    return [(x0, y0, x1, y1) for x0, y0, x1, y1 in corners.tolist()]


def _components(
    mask: Bool[np.ndarray, "H W"],
) -> tuple[Int[np.ndarray, "H W"], Int[np.ndarray, "M 4"], Int[np.ndarray, " M"]]:
    """Give the number of the connected part that each pixel belongs to, and the parts' boxes and areas."""
    label, stats = connected(mask)
    boxes = stats[:, :4].astype(np.int64)
    boxes[:, 2:] += boxes[:, :2]
    return label, boxes, np.maximum(stats[:, cv2.CC_STAT_AREA], 1)


def ink_parts(mask: Bool[np.ndarray, "H W"], ink: Float[np.ndarray, "H W"]) -> InkParts:
    """Take a mask of ink apart."""
    label, boxes, area = _components(mask)
    inked, inner = np.flatnonzero(mask), cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    of_part = label.ravel()[inked]
    stroke = np.zeros(len(area), np.float32)
    np.maximum.at(stroke, of_part, inner.ravel()[inked])
    return InkParts(label, boxes, area, stroke, np.bincount(of_part, ink.ravel()[inked], minlength=len(area)) / area)


def _like_writing(parts: InkParts, hand: _Hand, tallest: float) -> Bool[np.ndarray, " M"]:
    """Tell the parts that are no larger than writing, with strokes and ink like it; large type has larger strokes."""
    small = (parts.tall < tallest * hand.height) & (parts.width < WIDEST * np.maximum(parts.tall, hand.height))
    expected = hand.stroke * np.where(parts.tall < LARGE * hand.height, 1, parts.tall / hand.height)
    drawn = (parts.stroke > THIN * expected) & (parts.stroke < THICK * expected)
    return np.asarray(small & drawn & (parts.strength > hand.palest))


def _pieces(
    dirt: Bool[np.ndarray, "H W"],
    own: Bool[np.ndarray, "H W"],
    ink: Float[np.ndarray, "H W"],
    hidden: Bool[np.ndarray, "H W"],
    written: Int[np.ndarray, "K 4"],
    hand: _Hand,
) -> Bool[np.ndarray, "H W"]:
    """Give what is left of unknown letters between the characters of a line, without the strokes that cross them."""
    strokes = long_strokes(dirt, hand.height)
    apart = dirt & ~strokes & ~own
    parts = ink_parts(apart, ink)
    chosen = _like_writing(parts, hand, LARGE) & (parts.share(hidden & apart) < HIDDEN)
    chosen &= np.maximum(parts.width, parts.tall) > PIECE * hand.height
    chosen[0] = False
    chosen[chosen] = _in_line(parts.boxes[chosen], written, NEXT * hand.height, 0.0)
    chosen[chosen] = [not _end_of_a_stroke(parts, k) for k in np.nonzero(chosen)[0].tolist()]
    all_pieces = np.zeros_like(dirt)
    if not chosen.any():
        return all_pieces
    reach = 2 * max(1, round(CROSSED * hand.stroke)) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach))
    (left, top), (right, bottom) = parts.boxes[chosen, :2].min(0) - reach, parts.boxes[chosen, 2:].max(0) + reach
    here = slice(max(0, top), bottom), slice(max(0, left), right)
    pieces = chosen[parts.label[here]].astype(np.uint8)
    between = (cv2.morphologyEx(pieces, cv2.MORPH_CLOSE, disc) > 0) & dirt[here] & ~own[here]
    grown = _grown((pieces > 0) | between, 1)
    all_pieces[here] = grown & (~strokes[here] | between) & ~(dirt[here] & own[here])
    return all_pieces


def _underlines(
    left: Bool[np.ndarray, "H W"], ink: Float[np.ndarray, "H W"], known: Int[np.ndarray, "K 4"], hand: _Hand
) -> Bool[np.ndarray, "H W"]:
    """Give the level lines just below characters: nobody draws those by mistake."""
    parts = ink_parts(left, ink)
    level = FLAT * hand.height + SLANT * parts.width
    flat = (parts.tall < level) & (parts.width > np.maximum(hand.height, WIDE * parts.tall))
    flat &= _drawn(parts, hand)
    flat[0] = False

    def below(x0: int, y0: int, x1: int, y1: int) -> bool:
        gap = (y0 + y1) / 2 - known[:, 3]
        near = known[(gap > 0) & (gap < BELOW * hand.height)]
        written = np.minimum(near[:, 2], x1) - np.maximum(near[:, 0], x0)
        return bool(written.clip(0).sum() > UNDER * (x1 - x0))

    flat[flat] = [below(*box) for box in parts.boxes[flat].tolist()]
    return np.asarray(flat[parts.label])


def long_strokes(dirt: Bool[np.ndarray, "H W"], height: float) -> Bool[np.ndarray, "H W"]:
    """Tell the pixels on straight lines inside of the dirt that are longer than those of any letter."""
    rows, columns = (max(1, round(length * COARSE / height)) for length in dirt.shape)
    coarse = cv2.resize(dirt.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    small = (coarse > SOME).astype(np.uint8)
    half = round(LONG * COARSE / 2)
    found = np.zeros(small.shape, bool)
    for angle in np.linspace(0, np.pi, ANGLES, endpoint=False):
        right, down = round(half * float(np.cos(angle))), round(half * float(np.sin(angle)))
        line = np.zeros((2 * half + 1, 2 * half + 1), np.uint8)
        cv2.line(line, (half - right, half - down), (half + right, half + down), 1)
        found |= cv2.morphologyEx(small, cv2.MORPH_OPEN, line) > 0
    return np.asarray(cv2.resize(found.astype(np.uint8), dirt.shape[::-1], interpolation=cv2.INTER_NEAREST) > 0)


def _end_of_a_stroke(parts: InkParts, k: int) -> bool:
    """Tell a line that does not stand upright as stems do: what a stroke's bend or end leaves."""
    axis = _axis(parts, k)
    return axis is not None and abs(float(axis[0])) < UPRIGHT


def _axis(parts: InkParts, k: int) -> Float[np.ndarray, " 2"] | None:
    """Give the direction, down and right, of a part that is a line, None for others."""
    x0, y0, x1, y1 = parts.boxes[k]
    spread, axes = np.linalg.eigh(np.cov(np.argwhere(parts.label[y0:y1, x0:x1] == k).T))
    return np.asarray(axes[:, 1]) if spread[0] < STRAIGHT**2 * spread[1] else None


def _on_a_line(marks: Int[np.ndarray, "M 4"], known: Int[np.ndarray, "K 4"], height: float) -> Bool[np.ndarray, " M"]:
    """Tell which marks stand in line with known characters close by, or with other marks that do.

    >>> _on_a_line(np.array([[40, 0, 50, 10], [75, 2, 85, 12], [40, 30, 50, 40]]), np.array([[0, 0, 10, 10]]), 10.0)
    array([ True,  True, False])
    """
    on_line = _rows(marks, height)
    last = np.concatenate([known, marks[on_line]])
    while len(last) and not on_line.all():
        left = np.nonzero(~on_line)[0]
        reached = left[_in_line(marks[left], last, ALONG * height, LEVEL * height)]
        on_line[reached] = True
        last = marks[reached]
    return on_line


def _rows(marks: Int[np.ndarray, "M 4"], height: float) -> Bool[np.ndarray, " M"]:
    """Tell which marks stand in a row of their own: a heading, a row of dashes."""
    x0, y0, x1, y1 = marks.T.astype(float)
    tall, far = np.maximum(y1 - y0, 1), (APART + WIDEST) * height
    middles = np.stack([(x0 + x1) / 2, (y0 + y1) / 2 * far / (EVENLY * height)], 1)
    one, other = cKDTree(middles).query_pairs(far, p=np.inf, output_type="ndarray").T
    beside = np.maximum(x0[one] - x1[other], x0[other] - x1[one]) < APART * height
    pairs = beside & (np.abs(np.log(tall[one] / tall[other])) < np.log(2))
    joined = coo_array((pairs[pairs], (one[pairs], other[pairs])), shape=(len(marks), len(marks)))
    _, row = connected_components(joined, directed=False)
    return np.asarray(np.bincount(row, minlength=1)[row] >= ROW)


def _in_line(
    marks: Int[np.ndarray, "M 4"], others: Int[np.ndarray, "K 4"], along: float, level: float
) -> Bool[np.ndarray, " M"]:
    """Tell which marks have another one beside them, not farther than `along`, nor more than `level` above or below.

    Pixels, for others of ordinary height; beside larger ones marks may be farther away in proportion.
    """
    left, top, right, bottom = others.T
    usual = np.median(bottom - top) if len(others) else 1.0
    reach = along * np.maximum(1, (bottom - top) / usual)

    def has_one(x0: int, y0: int, x1: int, y1: int) -> bool:
        near = np.maximum(x0 - right, left - x1) < reach
        even = np.abs(y0 + y1 - top - bottom) < bottom - top + 2 * level
        return bool((near & even).any())

    return np.array([has_one(*mark) for mark in marks.tolist()], bool)
