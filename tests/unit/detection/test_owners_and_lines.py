from __future__ import annotations

import itertools

import numpy as np
import pytest

from unblot.detection.candidates import Candidates
from unblot.detection.certainty import probabilities
from unblot.detection.lines import find_lines, on_a_line
from unblot.detection.owners import COST, SHARED, Ink, best_two, find_rivals, owners, standing_classes, without
from unblot.detection.strokes import on_a_stroke, stroke_classes
from unblot.grid import FRAME

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


def chosen_of(found: Candidates, allowed: np.ndarray | None = None) -> list[int]:
    return owners(found, TYPICAL, find_rivals(found, INKS), allowed).tolist()


def standing(
    found: Candidates, examples: list[np.ndarray], worth: np.ndarray, free: tuple[bool, bool] = (False, False)
) -> np.ndarray:
    return standing_classes(found, INKS, find_rivals(found, INKS), examples, worth, np.array(free), broken=False)


def test_two_letters_win_over_one_that_is_most_of_both():
    wide_over_two_stems = candidates((1, 10, 10, 450), (0, 10, 10, 300), (0, 10, 18, 300))
    assert sorted(chosen_of(wide_over_two_stems)) == [1, 2]
    whole = candidates((1, 10, 10, 900), (0, 10, 10, 300), (0, 10, 18, 300))
    assert chosen_of(whole) == [0]
    assert sorted(chosen_of(whole, np.array([False, True, True]))) == [1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_owners_share_no_ink_and_nothing_can_be_added_or_swapped_one_for_one_in_vain(seed):
    rng = np.random.default_rng(seed)
    rows = [(int(rng.integers(2)), *map(int, rng.integers(0, 40, 2)), float(rng.uniform(50, 900))) for _ in range(12)]
    found = candidates(*rows)
    chosen = chosen_of(found)
    for one, other in itertools.combinations(chosen, 2):
        assert not shared(found, one, other)
    for k in set(range(len(rows))) - set(chosen):
        assert any(shared(found, k, other) for other in chosen)


@pytest.mark.parametrize(("of_two", "stems", "stands"), [(450.0, 8, False), (400.0, 8, True), (450.0, 3, True)])
def test_two_letters_that_touch_are_no_class_where_both_are_frequent_and_explain_them(of_two, stems, stands):
    pairs, alone = [(10, 10), (10, 40), (40, 10)], [(70, 20 * k) for k in range(stems - 3)]
    rows = [(1, y, x, 900.0) for y, x in pairs] + [(0, y, x + 8 * k, of_two) for y, x in pairs for k in (0, 1)]
    rows += [(0, y, x, 450.0) for y, x in alone]
    examples = [np.array([(y, x + 8) for y, x in pairs] + alone), np.array(pairs)]
    assert standing(candidates(*rows), examples, np.array([450.0, 900.0]))[1] == stands


def test_a_class_that_is_a_piece_of_another_falls():
    places = [(10, 10), (10, 30), (40, 10), (40, 40)]
    rows = [(1, y, x, 900.0) for y, x in places] + [(0, y, x + 8, 280.0) for y, x in places]
    examples = [np.array([(y, x + 8) for y, x in places]), np.array(places)]
    assert standing(candidates(*rows), examples, TYPICAL).tolist() == [False, True]
    apart = [(1, y, x, 900.0) for y, x in places] + [(0, y, x + 60, 280.0) for y, x in places]
    examples = [np.array([(y, x + 60) for y, x in places]), np.array(places)]
    assert standing(candidates(*apart), examples, TYPICAL).tolist() == [True, True]


@pytest.mark.parametrize(("broken", "two"), [(False, [1, 2]), (True, [])])
def test_the_best_two_need_not_be_the_best_of_all_unless_type_is_broken(broken, two):
    rivals = [np.array([1, 2]), np.array([0]), np.array([0])]
    assert best_two(np.arange(3), np.array([500.0, 400.0, 300.0]), rivals, broken) == two


def test_a_class_that_explains_hardly_anything_falls():
    rows = [(0, 10, 10, COST / 2), (1, 10, 40, 900.0)]
    examples = [np.array([(10, 10)]), np.array([(10, 40)])]
    assert standing(candidates(*rows), examples, np.array([COST / 2, 900.0])).tolist() == [False, True]


def test_close_rivals_missing_ink_and_rarity_make_a_character_doubtful():
    character = np.array([4, 7])
    common = candidates(*[(0, 10 + 30 * k, 10, 300) for k in range(50)])
    values, seconds = probabilities(common, common, INKS, character, TYPICAL)
    assert values.min() > 0.98
    assert seconds == [None] * 50
    rival = candidates(*[(0, 10 + 30 * k, 10, 300) for k in range(50)], (1, 10, 8, 290))
    close, seconds = probabilities(common, rival, INKS, character, TYPICAL)
    assert seconds == [50] + [None] * 49
    assert close[0] < close[1:].min() < values.min()  # and the others a little, since the page has rivals
    half = candidates(*[(0, 10 + 30 * k, 10, 150) for k in range(50)])
    assert probabilities(half, half, INKS, character, TYPICAL)[0].max() < values.min()
    once = common[np.array([0])]
    assert probabilities(once, once, INKS, character, TYPICAL)[0][0] < values[0]


def test_one_reading_of_two_characters_counts_against_both_together():
    both = candidates((0, 10, 10, 300), (0, 10, 16, 300))
    one = candidates((0, 10, 10, 300), (0, 10, 16, 300), (1, 10, 9, 400))
    character = np.arange(2)
    alone, seconds = probabilities(both[np.array([0])], one, INKS, character, TYPICAL)
    together, of_both = probabilities(both, one, INKS, character, TYPICAL)
    assert (seconds, of_both) == ([2], [2, 2])
    assert together.min() > alone[0]


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


def test_dots_stand_where_most_of_them_are_level_though_more_are_dirt():
    rng = np.random.default_rng(0)
    x, y = np.tile(np.arange(20) * 20, 10), np.repeat(np.arange(10) * 60, 20)
    letters = np.stack([y, x], 1)
    stops = letters[::10] + np.array((9, 10))
    dirt = np.stack([rng.integers(0, 600, 40), rng.integers(0, 400, 40)], 1)
    c = np.repeat([0, 1], [len(letters), len(stops) + len(dirt)])
    lines = find_lines(c, np.concatenate([letters, stops, dirt]), 2)
    assert lines is not None
    assert lines.above[0] - lines.above[1] == pytest.approx(9, abs=0.5)


def test_wide_letters_stand_on_lines_as_others_do():
    x, y = np.tile(np.arange(10) * 45, 10), np.repeat(np.arange(10) * 60, 10)
    assert find_lines(np.tile([0, 1], 50), np.stack([y, x], 1), 2) is not None


def test_rivals_are_numbered_anew_when_some_candidates_are_gone():
    rivals = [np.array([1, 2]), np.array([0]), np.array([0, 3]), np.array([2])]
    left = without(rivals, np.array([False, True, False, False]))
    assert [those.tolist() for those in left] == [[1], [0, 2], [1]]


def test_scattered_characters_stand_on_no_lines():
    rng = np.random.default_rng(1)
    assert find_lines(rng.integers(0, 3, 300), rng.integers(0, 1500, (300, 2)), 3) is None


def test_wide_letters_with_close_neighbours_are_no_strokes():
    letter = np.zeros(FRAME, bool)
    letter[20:34, 8:48] = True
    letter[23:31, 11:26] = letter[23:31, 30:45] = False
    cells = np.zeros((140, 600), np.float32)
    corners = [(10 + 60 * line, 10 + 42 * k) for line in range(2) for k in range(12)]
    for y, x in corners:
        cells[y : y + FRAME[0], x : x + FRAME[1]] += letter
    found = candidates(*[(0, y, x, 300.0) for y, x in corners])
    assert stroke_classes(cells, found, letter[None]).tolist() == [False]


def test_pieces_of_strokes_go_on_behind_their_ends_and_letters_do_not():
    cells = np.zeros((200, 300), np.float32)
    stem, ring = np.zeros(FRAME, bool), np.zeros(FRAME, bool)
    stem[14:34, 18:22] = True
    ring[14:34, 10:30] = True
    ring[18:30, 14:26] = False
    cells[:, 98:102] = 1  # a stroke from top to bottom
    letters, pieces = [(20, 180), (100, 180), (20, 240), (100, 240)], [(20, 80), (50, 80), (80, 80)]
    for y, x in letters:
        cells[y : y + FRAME[0], x : x + FRAME[1]] = stem
    found = candidates(*[(0, y, x, 300.0) for y, x in [*letters, *pieces]], (1, 20, 80, 300.0))
    own = np.stack([stem, ring])
    assert on_a_stroke(cells, found, own).tolist() == [False] * 4 + [True] * 3 + [False]
    assert stroke_classes(cells, found, own).tolist() == [False, False]
    only_pieces = found[np.array([0, 4, 5, 6, 7])]
    assert stroke_classes(cells, only_pieces, own).tolist() == [True, False]
