from __future__ import annotations

import numpy as np

from unblot.detection.places import Search
from unblot.detection.reading import read
from unblot.grid import FRAME
from unblot.inference.sheet import lay_out
from unblot.learning.glyphs import as_learned
from unblot.model.wear import Wear

WEAR = Wear(moved=0.2, turned=0.05, thick=0.05, tone=0.05, thick_here=0.05, tone_here=0.05, warped=0.05)
DOTTED, ARCHED = range(2)
STEMS = (-18, -9, 0, 9, 18)  # cells to the right


def test_narrow_characters_are_not_dropped_for_a_wide_one_that_lies_over_them():
    own = np.zeros((2, *FRAME), bool)
    own[DOTTED, 20:40, 26:30] = own[DOTTED, 13:16, 26:30] = True
    for at in STEMS:
        own[ARCHED, 20:40, 26 + at : 30 + at] = True
    own[ARCHED, 20:22, 8:48] = True
    glyphs = [as_learned(0.8 * ink.astype(np.float32), ink, WEAR) for ink in own]
    rng = np.random.default_rng(0)
    cells = np.zeros((180, 260), np.float32)
    places = [(60, 100 + at) for at in STEMS]
    for y, x in places:
        cells[y : y + FRAME[0], x : x + FRAME[1]] += 0.8 * own[DOTTED]
    cells = (cells + rng.normal(0, 0.03, cells.shape)).clip(0, 1).astype(np.float32)
    log_H = np.where(cells > 0.4, np.log(0.15), np.log(3)).astype(np.float32)
    found = read(lay_out(cells, log_H, cells > 2), glyphs, np.full(2, 0.5), None, Search())
    assert found.c.tolist() == [DOTTED] * len(STEMS)
    assert found.corner.tolist() == [list(place) for place in places]
