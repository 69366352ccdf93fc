from __future__ import annotations

import numpy as np

from unblot.detection.places import Search
from unblot.detection.reading import read
from unblot.detection.rows import find_rows
from unblot.grid import FRAME
from unblot.inference.sheet import lay_out
from unblot.learning.glyphs import as_learned
from unblot.model.wear import Wear

ABOVE = np.array([30, 38])  # of a tall class and a low one


def page(bend: float = 0.0, slope: float = 0.0, gap: int = 0, drop: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Set ten lines of 40 characters; those behind the 20th stand `gap` cells further on and `drop` cells lower."""
    c, corner = [], []
    for line in range(10):
        for k in range(40):
            x = 100 + 18 * k + (gap if k >= 20 else 0)
            base = 200 + 60 * line + slope * x + bend * np.sin(x / 250) + (drop if k >= 20 else 0)
            c.append((k + line) % 2)
            corner.append((round(base - ABOVE[c[-1]]), x))
    return np.array(c), np.array(corner)


def test_every_line_is_found_with_its_slope():
    c, corner = page(slope=0.03)
    rows = find_rows(c, corner, 2)
    assert rows is not None
    assert len(rows.rows) == 10
    off = np.array([rows.off(row, c, corner) for row in rows.rows]).min(0)
    assert off.max() <= 1.5


def test_lines_may_bend():
    c, corner = page(bend=9.0)
    rows = find_rows(c, corner, 2)
    assert rows is not None
    assert len(rows.rows) == 10
    assert np.array([rows.off(row, c, corner) for row in rows.rows]).min(0).max() <= 2.5


def test_columns_have_lines_of_their_own():
    c, corner = page(gap=200, drop=30)
    rows = find_rows(c, corner, 2)
    assert rows is not None
    assert len(rows.rows) == 20


def test_a_line_with_a_hole_is_one_line_that_no_character_is_on_twice():
    c, corner = page(gap=130)
    rows = find_rows(c, corner, 2)
    assert rows is not None
    assert len(rows.rows) == 10
    on = np.array([np.isfinite(rows.off(row, c, corner)) & (rows.off(row, c, corner) < 6) for row in rows.rows])
    assert (on.sum(0) == 1).all()


def test_scattered_characters_stand_on_no_lines():
    rng = np.random.default_rng(0)
    assert find_rows(rng.integers(0, 2, 300), rng.integers(0, 900, (300, 2)), 2) is None


def test_a_blank_page_is_read_as_nothing():
    pi, paper = np.ones(1), np.zeros((200, 200), np.float32)
    ink = np.zeros(FRAME, bool)
    ink[20:40, 20:24] = True
    letter = as_learned(0.8 * ink.astype(np.float32), ink, Wear())
    assert len(read(lay_out(paper, paper, paper > 0), [letter], pi, None, Search())) == 0
