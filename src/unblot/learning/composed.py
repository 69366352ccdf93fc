"""Pieces that are one character: neighbours that one class explains about as well as two do.

Two characters differ in where they stand and how they are worn; the pieces of one do not. Examples that a class was
not learned from are asked. Pieces that differ in how they are worn hardly ever stand alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.grid import FRAME
from unblot.inference.sheet import Sheet, cut, look
from unblot.learning.glyphs import HALO, Glyph, fit, inside, spread_out
from unblot.learning.windows import INKED, grown
from unblot.model.wear import Wear
from unblot.threads import side_by_side

LEAST = 5  # pairs
FOLDS = 2
EACH = 40  # pairs that are asked
BESIDE = 60  # cells
SAME = 2  # cells by which the distance of two pieces may differ
PIECES = 50.0  # evidence by which two may explain more than one, since they fit more by chance
UNUSUAL = 150.0  # evidence that one gains more than it does for other neighbours
NEARLY, ALWAYS = 0.6, 0.9  # of what two usually explain more than one; of a class's characters that are such pieces
THERE = 0.5  # of a piece's ink in whose place there is some, or dirt: it may be there, though it was not read
MOST_PAIRS = 100  # of classes that are looked at


@dataclass(frozen=True)
class Whole:
    """A character that was read as two: the first of each two, the frames of its examples, its ink, and what it gains.

    The gain is the evidence that one class has more than two.
    """

    first: Int[np.ndarray, " N"]
    examples: Int[np.ndarray, "N 2"]
    own: Bool[np.ndarray, "P1 P2"]
    gain: float


def composed(
    sheet: Sheet,
    glyphs: list[Glyph],
    c: Int[np.ndarray, " S"],
    corner: Int[np.ndarray, "S 2"],
    evidence: Float[np.ndarray, " S"],
    joint: Float[np.ndarray, " S"],
    wear: Wear,
) -> tuple[list[Whole], Bool[np.ndarray, " C"]]:
    """Find the neighbours that are pieces of one character, those that gain most first, and classes of such pieces.

    Characters are given in the order of their lines, `joint` being what the evidence of each and the next has too much.
    """
    pairs = defaultdict(list)
    for k, (down, right) in enumerate(corner[1:] - corner[:-1]):
        if 0 < right < BESIDE and abs(down) < FRAME[0] // 2:
            pairs[int(c[k]), int(c[k + 1])].append(k)

    def compose(item: tuple[tuple[int, int], list[int]]) -> Whole | None:
        (one, other), numbers = item
        at = np.array(numbers)
        offset = corner[at + 1] - corner[at]
        usual = np.rint(np.median(offset, 0)).astype(int)
        at = at[(np.abs(offset - usual) <= SAME).all(1)]
        ink = np.concatenate([np.argwhere(glyphs[one].own), np.argwhere(glyphs[other].own) + usual])
        low, high = ink.min(0), ink.max(0) + 1
        if len(at) < LEAST or (high - low > np.array(FRAME) - 2 * HALO - 2).any():
            return None
        shift = (low + high - np.array(FRAME)) // 2
        own = np.zeros(FRAME, bool)
        own[tuple((ink - shift).T)] = True
        examples = inside(sheet, corner[at] + shift)
        some = spread_out(np.arange(len(at)), EACH)
        as_one = _explained(sheet, examples[some], grown(own, HALO), wear)
        if as_one is None:
            return None
        gain = float(np.median(as_one - (evidence[at] + evidence[at + 1] + joint[at])[some]))
        return Whole(at, examples, own, gain)

    frequent = sorted((item for item in pairs.items() if len(item[1]) >= LEAST), key=lambda one: (-len(one[1]), one[0]))
    found = [made for made in side_by_side(compose, frequent[:MOST_PAIRS]) if made is not None]
    usual = float(np.median([whole.gain for whole in found])) if found else 0.0
    near = [whole for whole in found if whole.gain > NEARLY * usual]
    pieces = _always(sheet, glyphs, c, corner, near)
    likely = [
        whole
        for whole in found
        if whole.gain > max(-PIECES, usual + UNUSUAL)
        or (whole.gain > NEARLY * usual and pieces[c[whole.first[0] : whole.first[0] + 2]].any())
    ]
    return sorted(likely, key=lambda whole: -whole.gain), pieces


def _always(
    sheet: Sheet,
    glyphs: list[Glyph],
    c: Int[np.ndarray, " S"],
    corner: Int[np.ndarray, "S 2"],
    found: list[Whole],
) -> Bool[np.ndarray, " C"]:
    """Tell the classes whose characters nearly all stand before, or behind, one that they may be one character with.

    Letters that mostly do stand without it now and then, beside paper or what is not like it.
    """
    count, beside = np.bincount(c, minlength=len(glyphs)), np.zeros((2, len(glyphs)), int)
    for side in (0, 1):
        of_class = defaultdict(list)
        for whole in found:
            of_class[int(c[whole.first[0] + side])].append(whole.first)
        for k, pairs in of_class.items():
            left = np.setdiff1d(np.nonzero(c == k)[0], np.concatenate(pairs) + side)
            first = max(pairs, key=len)
            step = np.rint(np.median(corner[first + 1] - corner[first], 0)).astype(int) * (1 - 2 * side)
            own = glyphs[c[first[0] + 1 - side]].own
            places = inside(sheet, corner[left] + step)
            cells, dirt = (cut(values, places, FRAME)[:, own] for values in (sheet.cells, sheet.dirt))
            there = ((cells > INKED) | (dirt > sheet.dirt.min())).mean(1) > THERE
            beside[side, k] = sum(map(len, pairs)) + there.sum()
    return np.asarray((beside >= ALWAYS * count.clip(1)).any(0))


def _explained(
    sheet: Sheet, examples: Int[np.ndarray, "N 2"], allowed: Bool[np.ndarray, "P1 P2"], wear: Wear
) -> Float[np.ndarray, " N"] | None:
    """Give the evidence of examples under a class that was learned from the others."""
    evidence = np.empty(len(examples))
    for k in range(FOLDS):
        out = np.arange(len(examples)) % FOLDS == k
        glyph = fit(sheet, examples[~out], allowed, wear, 1)
        if glyph is None:
            return None
        evidence[out] = look(sheet, glyph.pattern, examples[out]).evidence
    return evidence
