from __future__ import annotations

import numpy as np
import pytest

from unblot.grid import FRAME
from unblot.inference.sheet import Sheet, lay_out
from unblot.learning.glyphs import HALO, LEAST_WEAR, Glyph, aligned, fit, learn_wear, spread_out
from unblot.learning.windows import grown
from unblot.model.wear import Wear, ways_to_differ

LETTER = np.zeros(FRAME, np.float32)
LETTER[20:40, 20:24] = LETTER[20:40, 30:34] = LETTER[28:31, 20:34] = 0.8
LETTER[19, 20:34] = LETTER[40, 20:34] = 0.3
CORNERS = np.array([(70 * row + 5, 60 * column + 5) for row in range(4) for column in range(12)])
CRISP = Wear(*[LEAST_WEAR] * len(Wear.__dataclass_fields__))


def page(wear: Wear | None, seed: int = 0) -> Sheet:
    """Print a letter 48 times, each impression differing as far as is given."""
    rng = np.random.default_rng(seed)
    covered = np.ones(FRAME, bool)
    cells = np.zeros(CORNERS.max(0) + np.array(FRAME) + 5, np.float32)
    for y, x in CORNERS:
        ink = LETTER.copy()
        if wear is not None:
            ways, sizes = ways_to_differ(LETTER, covered, wear)
            ink += ((rng.normal(size=len(sizes)) * sizes) @ ways).reshape(FRAME)
        cells[y : y + FRAME[0], x : x + FRAME[1]] = ink
    cells = (cells + rng.normal(0, 0.02, cells.shape)).clip(0, 1).astype(np.float32)
    return lay_out(cells, np.zeros_like(cells), np.zeros(cells.shape, bool))


def letter(sheet: Sheet) -> Glyph:
    glyph = fit(sheet, CORNERS, grown(LETTER > 0, HALO), Wear(), 1)
    assert glyph is not None
    return glyph


def test_crisp_type_shows_no_wear():
    sheet = page(None)
    assert learn_wear(sheet, [letter(sheet)], 3).warped < 2 * LEAST_WEAR


def test_worn_type_shows_as_much_wear_as_it_has():
    sheet = page(Wear(moved=0.05, turned=0.05, thick=0.05, tone=0.05, thick_here=0.05, tone_here=0.05, warped=0.4))
    assert learn_wear(sheet, [letter(sheet)], 3).warped == pytest.approx(0.4, rel=0.5)


def test_what_nothing_teaches_is_not_worn():
    assert learn_wear(page(None), [], 3) == CRISP


def test_examples_are_moved_onto_each_other():
    sheet = page(None)
    moved = CORNERS + np.array([(k % 3 - 1, k % 2) for k in range(len(CORNERS))])
    assert (aligned(sheet, letter(sheet), moved) == CORNERS).all()


def test_a_class_needs_ink():
    assert fit(page(None), CORNERS, np.zeros(FRAME, bool), Wear()) is None


def test_examples_are_taken_from_all_of_them():
    assert spread_out(np.arange(10), 4).tolist() == [0, 3, 6, 9]
    assert spread_out(np.arange(3), 4).tolist() == [0, 1, 2]
