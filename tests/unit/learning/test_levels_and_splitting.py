"""Letters held together by hairlines, and classes that hold two letters."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch

from unblot.grid import FRAME, Grid, make_grid
from unblot.learning.parts import find_components, find_parts
from unblot.learning.seeds import LEVELS, Seed, best_components, find_seeds, strength_at
from unblot.learning.splitting import _two_groups, split
from unblot.learning.windows import Shape

PLACES = [(top, left) for top in range(60, 1000, 90) for left in range(60, 1000, 80)]


def seeds_on(grid: Grid, level: float = LEVELS[0], taken: np.ndarray | None = None) -> list[Seed]:
    return find_seeds(grid, find_components(grid.ink, level), taken)


def level_of(grid: Grid) -> float:
    return best_components(grid, find_components(grid.ink, LEVELS[0])).level


def arch(page: np.ndarray, top: int, left: int, hairline: float, upside_down: bool = False) -> None:
    """Two stems, held together by a hairline above, as in n, or below, as in u."""
    page[top : top + 48, left : left + 8] = 0.9
    page[top : top + 48, left + 28 : left + 36] = 0.9
    row = top + 42 if upside_down else top + 2
    page[row : row + 4, left + 8 : left + 28] = hairline


def laid_out(hairline: float, upside_down: list[bool]) -> Grid:
    page = np.zeros((1060, 1060), np.float32)
    rng = np.random.default_rng(0)
    for (top, left), turned in zip(PLACES, upside_down, strict=True):
        arch(page, top, left, hairline * rng.uniform(0.8, 1.2), turned)
    noise = rng.normal(0, 0.02, page.shape).astype(np.float32)
    return make_grid(np.clip(cv2.GaussianBlur(page, (0, 0), 1.0) + noise, 0, 1), 48.0, torch.device("cpu"))


def test_faint_hairlines_hold_letters_together_where_that_makes_them_repeat():
    upright = [False] * len(PLACES)
    faint = laid_out(0.2, upright)
    level = level_of(faint)
    assert level < 0.2
    widths = {
        name: find_parts(faint.ink, find_components(faint.ink, at)).box
        for name, at in (("usual", LEVELS[0]), ("best", level))
    }
    assert np.median(widths["usual"][:, 3] - widths["usual"][:, 1]) < 12
    assert np.median(widths["best"][:, 3] - widths["best"][:, 1]) > 30
    assert strength_at(LEVELS[0]) == 1
    assert strength_at(level) > 1


def test_faint_smears_that_join_letters_by_chance_do_not_count():
    page = np.zeros((1060, 1060), np.float32)
    rng = np.random.default_rng(0)
    for top, left in PLACES:
        arch(page, top, left, 0.9)
        start, end = (top, left), (top + int(rng.integers(-60, 60)), left + int(rng.integers(40, 120)))
        smear = cv2.line(np.zeros_like(page), start[::-1], end[::-1], 0.25, int(rng.integers(4, 12)))
        page = np.maximum(page, smear)
    assert level_of(make_grid(page, 48.0, torch.device("cpu"))) == LEVELS[0]


def test_a_class_of_two_letters_is_split_and_a_class_of_one_is_not():
    turned = [k % 3 == 0 for k in range(len(PLACES))]
    grid = laid_out(0.7, turned)
    seeds = seeds_on(grid)
    corners = np.concatenate([seed.corners for seed in seeds])
    whole = np.median([seed.part for seed in seeds], axis=0)
    shape = Shape(whole > 0.3, (0, 0, FRAME[1], FRAME[0]))
    label = {(top // 90, left // 80): mark for (top, left), mark in zip(PLACES, turned, strict=True)}
    parted = split(grid, [Seed(corners, whole)], [shape])
    assert len(parted) == 2
    for each in parted:
        at = 2 * (each.corners - np.array(FRAME) + np.array(FRAME) // 2)
        marks = [label[(y - 24) // 90, (x - 18) // 80] for y, x in at]
        assert len(set(marks)) == 1
    assert len(split(grid, parted, [shape, shape])) == 2


GRID = np.argwhere(np.ones((15, 20)))


@pytest.mark.parametrize("seed", range(5))
def test_one_cloud_has_no_cut_and_two_clouds_have_theirs(seed):
    rng = np.random.default_rng(seed)
    one = rng.random(300) + rng.normal(0, 0.1, (120, 300))
    assert _two_groups(one, GRID) is None
    worn = one + rng.normal(0, 0.6, (120, 1)) * rng.normal(0, 0.1, 300)  # one way to differ, by any amount
    assert _two_groups(worn, GRID) is None
    side = rng.random(120) < 0.3
    two = one + np.where(side[:, None], 0.25, 0) * rng.choice([-1, 1], 300)
    cut = _two_groups(two, GRID)
    assert cut is not None
    assert (cut == side).all() or (cut == ~side).all()


@pytest.mark.parametrize("seed", range(5))
def test_shapes_that_are_nearly_the_same_are_two_where_many_examples_tell(seed):
    rng = np.random.default_rng(seed)
    side = np.arange(120) % 3 == 0
    both = rng.random(300) + np.where(side[:, None], 0.08, 0) * rng.choice([-1, 1], 300)  # correlation 0.96
    cells = both + rng.normal(0, 0.05, both.shape)
    assert _two_groups(cells, GRID) is not None
    assert _two_groups(cells[:48], GRID) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_few_of_another_letter_are_found_among_many_and_a_few_under_dirt_are_not(seed):
    rng = np.random.default_rng(seed)
    thick = rng.uniform(-0.3, 0.3, (120, 1, 1))  # the widest direction: how much ink an impression has
    page = np.zeros((120, 15, 20))
    page[:, 2:13, 3:6] = page[:, 2:5, 3:17] = 0.8
    letters = np.clip(page + thick * (page > 0) + rng.normal(0, 0.08, page.shape), 0, 1)
    strokes = letters.copy()
    for k in range(10):
        letters[k, 10:13, 6:17] = np.clip(0.8 + thick[k] + rng.normal(0, 0.08, (3, 11)), 0, 1)
        start = (8, 10) if rng.random() < 0.8 else (12, 14)
        end = (start[0] + int(rng.integers(-20, 20)), start[1] + int(rng.integers(-20, 20)))
        cv2.line(strokes[k], start[::-1], end[::-1], 0.9, 2)
    cut = _two_groups(letters.reshape(120, -1), GRID)
    assert cut is not None
    assert sorted(np.nonzero(cut == cut[0])[0]) == list(range(10))
    assert _two_groups(strokes.reshape(120, -1), GRID) is None


@pytest.mark.parametrize("shift", [False, True])
def test_crisp_letters_that_differ_in_one_place_are_two_and_a_scanners_traces_are_none(shift):
    rng = np.random.default_rng(0)
    letter = np.zeros((30, 30), np.float32)
    letter[3:27, 3:27] = 1
    letter[8:22, 8:22] = 0
    other = np.roll(letter, 1, 1) * 0.1 + letter * 0.9 if shift else letter.copy()
    if not shift:
        other[12:16, 8:12] = 0.6
    second = rng.random(80) < 0.4
    pictures = np.where(second[:, None, None], other, letter) + rng.normal(0, 0.02, (80, 30, 30))
    places = np.argwhere(np.ones((30, 30), bool))
    side = _two_groups(pictures.reshape(80, -1).astype(np.float32), places)
    assert (side is None) == shift
    assert shift or (side == second).all() or (side != second).all()
