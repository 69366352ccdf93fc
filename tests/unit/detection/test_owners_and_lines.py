from __future__ import annotations

import itertools

import numpy as np
import pytest

from unblot.detection.candidates import Candidates
from unblot.detection.lines import find_lines, on_a_line
from unblot.detection.owners import COST, SHARED, Ink, owners, probabilities, standing_classes

STEM, WIDE = (Ink(np.ones((20, width), bool), 0, 0) for width in (4, 12))
INKS = [STEM, WIDE]
TYPICAL = np.array([300.0, 900.0])


def candidates(*rows: tuple[int, int, int, float]) -> Candidates:
    c, y, x, evidence = (np.array(v) for v in zip(*rows, strict=True))
    return Candidates(c, np.stack([y, x], 1), evidence.astype(np.float32), np.ones(len(rows), np.float32))


def shared(found: Candidates, one: int, other: int) -> bool:
    masks = []
    for k in (one, other):
        mask = np.zeros((80, 80), bool)
        cells = INKS[found.c[k]].cells
        y, x = found.corner[k]
        mask[y : y + cells.shape[0], x : x + cells.shape[1]] = True
        masks.append(mask)
    return (masks[0] & masks[1]).sum() > SHARED * min(mask.sum() for mask in masks)


def test_two_letters_win_over_one_that_is_most_of_both():
    wide_over_two_stems = candidates((1, 10, 10, 450), (0, 10, 10, 300), (0, 10, 18, 300))
    assert sorted(owners(wide_over_two_stems, INKS, TYPICAL)) == [1, 2]
    whole = candidates((1, 10, 10, 900), (0, 10, 10, 300), (0, 10, 18, 300))
    assert owners(whole, INKS, TYPICAL).tolist() == [0]


@pytest.mark.parametrize("seed", range(20))
def test_owners_share_no_ink_and_nothing_can_be_added_or_swapped_one_for_one_in_vain(seed):
    rng = np.random.default_rng(seed)
    rows = [(int(rng.integers(2)), *map(int, rng.integers(0, 40, 2)), float(rng.uniform(50, 900))) for _ in range(12)]
    found = candidates(*rows)
    chosen = owners(found, INKS, TYPICAL).tolist()
    for one, other in itertools.combinations(chosen, 2):
        assert not shared(found, one, other)
    for k in set(range(len(rows))) - set(chosen):
        assert any(shared(found, k, other) for other in chosen)


def test_a_class_that_is_a_piece_of_another_falls():
    places = [(10, 10), (10, 30), (40, 10), (40, 40)]
    rows = [(1, y, x, 900.0) for y, x in places] + [(0, y, x + 8, 280.0) for y, x in places]
    examples = [np.array([(y, x + 8) for y, x in places]), np.array(places)]
    assert standing_classes(candidates(*rows), INKS, examples, TYPICAL).tolist() == [False, True]
    apart = [(1, y, x, 900.0) for y, x in places] + [(0, y, x + 60, 280.0) for y, x in places]
    examples = [np.array([(y, x + 60) for y, x in places]), np.array(places)]
    assert standing_classes(candidates(*apart), INKS, examples, TYPICAL).tolist() == [True, True]


def test_a_class_that_explains_hardly_anything_falls():
    rows = [(0, 10, 10, COST / 2), (1, 10, 40, 900.0)]
    examples = [np.array([(10, 10)]), np.array([(10, 40)])]
    assert standing_classes(candidates(*rows), INKS, examples, np.array([COST / 2, 900.0])).tolist() == [False, True]


def test_a_close_rival_makes_a_character_doubtful():
    character = np.array([4, 7])
    alone = candidates((0, 10, 10, 300))
    value, second = probabilities(alone, np.array([0]), INKS, character)
    assert value[0] > 0.999
    assert second == [None]
    close = candidates((0, 10, 10, 300), (1, 10, 8, 290))
    value, second = probabilities(close, np.array([0]), INKS, character)
    assert 0.5 < value[0] < 0.8
    assert second == [7]


@pytest.mark.parametrize("slope", [0.0, 0.035, -0.02])
def test_lines_are_learned_with_their_slope_and_each_class_s_height(slope):
    rng = np.random.default_rng(0)
    c = rng.integers(0, 2, 200)
    x = np.tile(np.arange(20) * 20, 10)
    line = np.repeat(np.arange(10) * 60, 20)
    y = np.rint(line + slope * x - np.where(c == 1, 7, 0)).astype(int)
    corner = np.stack([y, x], 1)
    lines = find_lines(c, corner, 2)
    assert lines is not None
    assert lines.slope == pytest.approx(slope, abs=0.005)  # places are whole cells
    assert lines.above[1] - lines.above[0] == pytest.approx(7, abs=0.5)
    asked = corner[[45, 45]] + np.array([[0, 0], [20, 0]])
    assert on_a_line(lines, (c, corner), c[[45, 45]], asked).tolist() == [True, False]


def test_scattered_characters_stand_on_no_lines():
    rng = np.random.default_rng(1)
    assert find_lines(rng.integers(0, 3, 300), rng.integers(0, 1500, (300, 2)), 3) is None
