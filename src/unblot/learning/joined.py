"""Joined writing: words are cut where only a joint holds them together, and pieces become characters by repetition.

In Devanagari or Arabic a word is one part of the ink. Between its characters, and inside of some, there is nothing but
the line that joins them. Pieces between such joints repeat as characters do, and a piece that one other nearly always
follows is one character with it: after a whole character, many others follow, or none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.learning.alike import ALIKE, LEAST_PARTS, correlate, first_ones
from unblot.learning.parts import LEAST_AREA, STACK, TALLEST, WIDEST, Components, Parts, draw_parts, likely
from unblot.scale import HEIGHT, SIZES, one_of_many

FLATTEST, LONGEST = 0.4, 20.0  # of a character's height: how high words are at least, how wide at most
MOSTLY = 0.5  # of the writing's ink that words hold, where writing is joined
THIN = 1.4  # times as thick as most joints
JOINT = 0.06  # heights that a joint is wide, inside of a word
DOT = 0.25  # of the area of the least part
ASIDE = 0.2  # heights between a dot and its piece, at most
FOLLOWS = 0.8  # of a piece that the same one follows
FEW, REPEATED = 0.25, 0.96  # of the pieces, how like their class's first others are: those of handwriting are less
RARE = 0.15  # of the usual number of examples: rarer pieces are two characters that touch
SAME = 0.06  # heights between two gaps that are the same


@dataclass(frozen=True)
class Piece:
    """A piece of a word: first and last column, and the components it belongs to, its word first."""

    left: int
    right: int
    members: tuple[int, ...]

    def __add__(self, other: Piece) -> Piece:
        """Take this and the next one."""
        return Piece(self.left, other.right, self.members + other.members)


def find_joined(ink: Float[np.ndarray, "H W"], components: Components) -> Parts | None:
    """Find the characters of joined writing; None where most stand apart, or pieces of words hardly repeat."""
    stats = components.stats
    wide, area = _words(stats, WIDEST), stats[:, cv2.CC_STAT_AREA]
    letters = one_of_many(stats[wide][:, SIZES].astype(float))
    held, apart = area[wide[~letters]].sum(), area[wide[letters]].sum() + area[likely(stats)].sum()
    if held <= MOSTLY * (held + apart):
        return None
    cut = _cut(components, _words(components.stats, 0.0))
    pieces = [piece for word in cut for piece in word]
    likeness, nearest = _nearest(_drawn(ink, components, pieces))
    if np.quantile(likeness, FEW) < REPEATED:
        return None
    classes = iter(np.where(likeness > ALIKE, nearest, -1).tolist())
    read = [[(next(classes), piece) for piece in word] for word in cut]
    whole = _frequent([one for word in _whole(read) for one in word])
    return _drawn(ink, components, [piece for piece in whole if piece.right - piece.left < WIDEST * HEIGHT])


def _words(stats: Int[np.ndarray, "K 5"], narrowest: float) -> Int[np.ndarray, " W"]:
    """Give the components that are as high as writing, and at least so many heights wide."""
    width, height = stats[:, cv2.CC_STAT_WIDTH] / HEIGHT, stats[:, cv2.CC_STAT_HEIGHT] / HEIGHT
    words = (width >= narrowest) & (width < LONGEST) & (height > FLATTEST) & (height < TALLEST)
    words[0] = False
    return np.nonzero(words)[0]


def _cut(components: Components, words: Int[np.ndarray, " W"]) -> list[list[Piece]]:
    """Cut words at the columns where there is nothing but one thin run of ink; dots go with the piece at them."""
    ink = [_column_ink(components, word) for word in words.tolist()]
    single = np.bincount(np.concatenate([thick[runs == 1] for runs, thick in ink]), minlength=3)
    joint = THIN * np.convolve(single, np.ones(3), "same").argmax()
    dots = np.setdiff1d(_dots(components.stats), words)
    cut = []
    for word, (runs, thick) in zip(words.tolist(), ink, strict=True):
        left, top, _, height, _ = components.stats[word].tolist()
        pieces = [Piece(left + start, left + end, (word,)) for start, end in _between((runs == 1) & (thick <= joint))]
        cut.append(_dotted(pieces, components.stats, dots, (top, top + height)))
    return cut


def _column_ink(components: Components, word: int) -> tuple[Int[np.ndarray, " w"], Int[np.ndarray, " w"]]:
    """Give the number of runs of ink in each column of a word, and the pixels in them."""
    left, top, width, height, _ = components.stats[word]
    own = components.label[top : top + height, left : left + width] == word
    starts = np.diff(own.astype(np.int8), axis=0, prepend=0) == 1
    return starts.sum(0), own.sum(0)


def _between(thin: Bool[np.ndarray, " w"]) -> Iterator[tuple[int, int]]:
    """Give the first and last column of what lies between joints; at its ends, a word may have short ones."""
    at, width = 0, len(thin)
    edges = np.flatnonzero(np.diff(thin.astype(np.int8), prepend=0, append=0))
    for start, end in [*edges.reshape(-1, 2).tolist(), (width, width)]:
        if end - start >= JOINT * HEIGHT or start == 0 or end == width:
            if start > at:
                yield at, start
            at = end


def _dots(stats: Int[np.ndarray, "K 5"]) -> Int[np.ndarray, " D"]:
    """Give the components that may be dots of joined writing."""
    small = (stats[:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]] < HEIGHT).all(1)
    return np.nonzero(small & (stats[:, cv2.CC_STAT_AREA] > DOT * LEAST_AREA * HEIGHT**2))[0]


def _dotted(
    pieces: list[Piece], stats: Int[np.ndarray, "K 5"], dots: Int[np.ndarray, " D"], rows: tuple[int, int]
) -> list[Piece]:
    """Add the dots above and below a word to its pieces, dots side by side to the same."""
    left, top, width, height, _ = stats[dots].T
    aside = ASIDE * HEIGHT
    near = (top + height > rows[0] - STACK * HEIGHT) & (top < rows[1] + STACK * HEIGHT)
    near &= (left + width > pieces[0].left - aside) & (left < pieces[-1].right + aside) if pieces else False
    members: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    for group in _side_by_side(stats[dots[near], :4]):
        x = float((left[near][group].min() + (left + width)[near][group].max()) / 2)
        beside = [max(piece.left - x, x - piece.right, 0) for piece in pieces]
        if min(beside) < aside:
            members[int(np.argmin(beside))] += tuple(dots[near][group].tolist())
    return [Piece(piece.left, piece.right, piece.members + members[k]) for k, piece in enumerate(pieces)]


def _side_by_side(boxes: Int[np.ndarray, "D 4"]) -> list[Int[np.ndarray, " _"]]:
    """Group boxes with gaps that are no wider than they are."""
    groups: list[list[int]] = []
    for k in np.argsort(boxes[:, 0], kind="stable").tolist():
        x, y, width, height = boxes[k]
        for group in groups:
            x0, y0, w0, h0 = boxes[group[-1]]
            if x - (x0 + w0) <= max(width, w0) and abs(2 * y + height - 2 * y0 - h0) <= height + h0:
                group.append(k)
                break
        else:
            groups.append([k])
    return [np.array(group) for group in groups]


def _drawn(ink: Float[np.ndarray, "H W"], components: Components, pieces: list[Piece]) -> Parts:
    """Draw pieces, each without what it is joined to."""
    places = []
    for piece in pieces:
        word, *dots = dict.fromkeys(piece.members)
        _, top, _, height, _ = components.stats[word]
        rows = np.flatnonzero((components.label[top : top + height, piece.left : piece.right] == word).any(1))
        boxes = [(top + rows[0], piece.left, top + rows[-1] + 1, piece.right)]
        boxes += [(y, x, y + h, x + w) for x, y, w, h, _ in components.stats[dots]]
        (y0, x0), (y1, x1) = np.min(boxes, axis=0)[:2].tolist(), np.max(boxes, axis=0)[2:].tolist()
        places.append((np.array([word, *dots]), (y0, x0, y1, x1)))
    return draw_parts(ink, components.label, places)


def _nearest(parts: Parts) -> tuple[Float[np.ndarray, " M"], Int[np.ndarray, " M"]]:
    """Give how like each part is to the first one of the class that it is most like, and that class."""
    first, _ = first_ones(parts)
    if not len(first):
        return np.zeros(max(1, len(parts)), np.float32), np.zeros(max(1, len(parts)), int)
    likeness, _ = correlate(parts.alone[first], parts.alone)
    return likeness.max(0), likeness.argmax(0)


def _whole(words: list[list[tuple[int, Piece]]]) -> list[list[tuple[int, Piece]]]:
    """Join the pieces that belong together, two classes of them after the other, until none do."""
    while pair := _one_character(words):
        words = [list(_joined(word, *pair)) for word in words]
    return words


def _frequent(pieces: list[tuple[int, Piece]]) -> list[Piece]:
    """Leave out pieces that are like no others, and classes much rarer than most: characters that touch by chance."""
    count = Counter(c for c, _ in pieces if c >= 0)
    least = RARE * float(np.median(list(count.values()))) if count else 0.0
    return [piece for c, piece in pieces if count[c] > least]


def _one_character(words: list[list[tuple[int, Piece]]]) -> tuple[int, int, float, int] | None:
    """Give the two classes of which one has the other beside it most often, their gap, and a new class for both."""
    count = Counter(c for word in words for c, _ in word)
    gaps = defaultdict(list)
    for word in words:
        for (one, first), (other, second) in pairwise(word):
            if min(one, other) >= 0 and one != other and second.right - first.left < WIDEST * HEIGHT:
                gaps[one, other].append(second.left - first.right)
    best, most = None, 0.0
    for (one, other), found in sorted(gaps.items()):
        usual = float(np.median(found))
        same = int((np.abs(np.array(found) - usual) <= SAME * HEIGHT).sum())
        share = same / min(count[one], count[other])
        if same >= LEAST_PARTS and share >= FOLLOWS and same * share > most:
            best, most = (one, other, usual, max(count) + 1), same * share
    return best


def _joined(word: list[tuple[int, Piece]], one: int, other: int, gap: float, both: int) -> Iterator[tuple[int, Piece]]:
    """Join the pieces of two classes in a word that have a gap between them."""
    k = 0
    while k < len(word):
        c, piece = word[k]
        follower = word[k + 1] if k + 1 < len(word) else None
        if (
            c == one
            and follower
            and follower[0] == other
            and abs(follower[1].left - piece.right - gap) <= SAME * HEIGHT
        ):
            yield both, piece + follower[1]
            k += 1
        else:
            yield c, piece
        k += 1
