from __future__ import annotations

import numpy as np
import pytest

from unblot.grid import FRAME
from unblot.inference.sheet import lay_out
from unblot.learning.glyphs import HALO, fit
from unblot.learning.parted import parted
from unblot.learning.splitting import enclosed, two_worn_shapes
from unblot.learning.windows import grown
from unblot.model.wear import Wear, ways_to_differ

WEAR = Wear(moved=0.1, turned=0.1, thick=0.1, tone=0.05, thick_here=0.25, tone_here=0.08, warped=0.3)
ARCH = np.zeros(FRAME, np.float32)  # an n; turned over, a u
ARCH[20:40, 20:24] = ARCH[20:40, 32:36] = 0.8
ARCH[20:22, 20:36] = 0.4
CUP = ARCH.copy()
CUP[20:22, 24:32], CUP[38:40, 24:32] = 0, 0.4
CORNERS = np.array([(70 * row + 5, 60 * column + 5) for row in range(6) for column in range(12)])


def split_up(first: np.ndarray, second: np.ndarray, seed: int) -> list[set[bool]]:
    """Print two letters as one worn class, an arch, and part it."""
    rng = np.random.default_rng(seed)
    is_second = rng.random(len(CORNERS)) < 0.3
    cells = np.zeros(CORNERS.max(0) + np.array(FRAME) + 5, np.float32)
    for (y, x), other in zip(CORNERS, is_second, strict=True):
        ink = (second if other else first).copy()
        ways, sizes = ways_to_differ(ink, np.ones(FRAME, bool), WEAR)
        ink += ((rng.normal(size=len(sizes)) * sizes) @ ways).reshape(FRAME)
        cells[y : y + FRAME[0], x : x + FRAME[1]] = ink
    cells = (cells + rng.normal(0, 0.05, cells.shape)).clip(0, 1).astype(np.float32)
    sheet = lay_out(cells, np.zeros_like(cells), np.zeros(cells.shape, bool))
    glyph = fit(sheet, CORNERS, grown(enclosed(ARCH > 0), HALO), WEAR)
    assert glyph is not None
    which = {tuple(corner): bool(other) for corner, other in zip(CORNERS.tolist(), is_second, strict=True)}
    groups = [corners for corners, _ in parted(sheet, glyph, CORNERS, WEAR)]
    assert sum(map(len, groups)) == len(CORNERS)
    return [{which[tuple(corner)] for corner in corners.tolist()} for corners in groups]


@pytest.mark.parametrize("seed", range(3))
def test_two_worn_letters_are_parted_to_the_last_example(seed):
    assert sorted(split_up(ARCH, CUP, seed), key=min) == [{False}, {True}]


@pytest.mark.parametrize("seed", range(3))
def test_one_worn_letter_stays_one(seed):
    assert split_up(ARCH, ARCH, seed) == [{False, True}]


def test_what_stands_beside_a_letter_parts_no_class():
    beside = ARCH.copy()
    beside[18:42, 14:19] = beside[18:42, 37:42] = 0.8
    assert split_up(ARCH, beside, 0) == [{False, True}]


def test_few_examples_are_not_parted():
    cells = np.random.default_rng(0).normal(size=(15, 40))
    cells[:7] += 100
    assert two_worn_shapes(cells, small=False) is None


def test_small_marks_are_parted_where_larger_ones_are_not():
    rng = np.random.default_rng(1)
    cells = rng.normal(size=(40, 60)) * 0.1
    cells[:20, :12] += 0.14
    widths = [two_worn_shapes(cells, small) is not None for small in (False, True)]
    assert widths == [False, True]
