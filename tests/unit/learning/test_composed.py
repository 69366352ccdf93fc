from __future__ import annotations

import numpy as np
import pytest

from unblot.grid import FRAME
from unblot.inference.sheet import lay_out, look
from unblot.learning.composed import Whole, composed
from unblot.learning.glyphs import HALO, fit
from unblot.learning.windows import grown
from unblot.model.wear import Wear

WEAR = Wear(moved=0.2, turned=0.05, thick=0.05, tone=0.05, thick_here=0.05, tone_here=0.05, warped=0.05)
BOW, STEM, CROSS, HOOK = range(4)


def shapes() -> np.ndarray:
    """Draw a bow and a stem, which are the pieces of one letter, and two other letters, each in its frame."""
    ink = np.zeros((4, *FRAME), np.float32)
    ink[BOW, 20:40, 20:23] = ink[BOW, 20:23, 20:30] = ink[BOW, 37:40, 20:30] = 0.8
    ink[STEM, 20:40, 26:29] = 0.8
    ink[CROSS, 20:40, 26:29] = ink[CROSS, 28:31, 20:36] = 0.8
    ink[HOOK, 20:40, 30:33] = ink[HOOK, 37:40, 20:33] = 0.8
    return ink


LONE = ((BOW, STEM), (CROSS, HOOK), (HOOK, CROSS), (BOW, STEM), (CROSS, CROSS))
ALSO_ALONE = ((BOW, STEM), (CROSS, HOOK), (HOOK, BOW), (BOW, CROSS), (STEM, CROSS))
SELDOM_ALONE = (*[(BOW, STEM)] * 5, (STEM, CROSS), (HOOK, BOW))


def compose(
    words: tuple[tuple[int, int], ...], spoilt: float, unread: float = 0.0
) -> tuple[np.ndarray, list[Whole], list[int]]:
    """Set twelve lines of words; give the classes, what is composed, and which classes are pieces.

    The evidence of bows and stems is too high by `spoilt`, and a share of the bows is not read.
    """
    rng = np.random.default_rng(0)
    ink = shapes()
    c, corner = [], []
    for line in range(12):
        x = 70
        for word in words:
            for k, each in enumerate(word):
                if each != STEM:  # which stands as high as its bow
                    y = 70 + 60 * line + int(rng.integers(-2, 3))
                c.append(each)
                corner.append((y, x))
                x += 14 if word == (BOW, STEM) and k == 0 else 24 + 40 * k
    c, corner = np.array(c), np.array(corner)
    cells = np.zeros(corner.max(0) + np.array(FRAME) + 70, np.float32)
    for each, (y, x) in zip(c, corner, strict=True):
        frame = cells[y : y + FRAME[0], x : x + FRAME[1]]
        np.maximum(frame, ink[each], out=frame)
    cells = (cells + rng.normal(0, 0.03, cells.shape)).clip(0, 1).astype(np.float32)
    sheet = lay_out(cells, np.zeros_like(cells), np.zeros(cells.shape, bool))
    read = (c != BOW) | (rng.random(len(c)) >= unread)
    c, corner = c[read], corner[read]
    glyphs = [fit(sheet, corner[c == k], grown(ink[k] > 0, HALO), WEAR) for k in range(4)]
    evidence = np.empty(len(c), np.float32)
    for k, glyph in enumerate(glyphs):
        assert glyph is not None
        evidence[c == k] = look(sheet, glyph.pattern, corner[c == k]).evidence + spoilt * (k in (BOW, STEM))
    wholes, pieces = composed(sheet, glyphs, c, corner, evidence, np.zeros(len(c), np.float32), WEAR)
    return c, wholes, np.nonzero(pieces)[0].tolist()


def pairs(c: np.ndarray, wholes: list[Whole]) -> list[set[tuple[int, int]]]:
    """Give the classes of what is composed."""
    return [set(zip(c[w.first].tolist(), c[w.first + 1].tolist(), strict=True)) for w in wholes]


def test_pieces_that_move_together_are_one_character_and_neighbours_that_do_not_are_two():
    c, wholes, _ = compose(LONE, 0.0)
    assert pairs(c, wholes) == [{(BOW, STEM)}]
    assert len(wholes[0].examples) == 24


@pytest.mark.parametrize(("words", "composes"), [(LONE, True), (ALSO_ALONE, False), (SELDOM_ALONE, False)])
def test_pieces_worn_in_ways_of_their_own_are_one_if_they_never_stand_alone(words, composes):
    c, wholes, pieces = compose(words, 35.0)
    assert (pairs(c, wholes) == [{(BOW, STEM)}]) == composes
    assert pieces == ([BOW, STEM] if composes else [])


def test_a_piece_that_was_not_read_is_there_nevertheless():
    c, wholes, pieces = compose(LONE, 35.0, unread=0.4)
    assert pairs(c, wholes) == [{(BOW, STEM)}]
    assert pieces == [BOW, STEM]
