from __future__ import annotations

import numpy as np
import pytest

from unblot.detection.candidates import Candidates
from unblot.detection.standing import LEAST_EVIDENCE, OFF_LINES, ON_A_LINE, least_evidence, mostly, pieces, specks

LETTER, OTHER, DOT = range(3)
TYPICAL, SMALL = np.array([400.0, 300.0, 50.0]), np.array([False, False, True])
LETTERS = [(60 * line, 20 * k) for line in range(10) for k in range(20)]
STOPS = [(60 * line + 9, 20 * k + 10) for line in range(10) for k in (4, 12)]


def candidates(*rows: tuple[int, int, int], share: float = 1.0) -> Candidates:
    c, y, x = np.array(rows).T
    return Candidates(c, np.stack([y, x], 1), (share * TYPICAL[c]).astype(np.float32), np.ones(len(c), np.float32))


def page(dots: list[tuple[int, int]]) -> Candidates:
    letters = [(k % 2, *place) for k, place in enumerate(LETTERS)]
    return candidates(*letters, *((DOT, *place) for place in dots))


def anywhere(count: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(0)
    return [(int(y), int(x)) for y, x in zip(rng.integers(0, 600, count), rng.integers(0, 400, count), strict=True)]


def test_stops_are_a_class_though_more_dots_are_dirt():
    assert mostly(page([*STOPS, *anywhere(40)]), TYPICAL, SMALL).tolist() == [True, True, True]
    assert mostly(page([*STOPS[:3], *anywhere(80)]), TYPICAL, SMALL).tolist() == [True, True, False]


def test_letters_that_mostly_stand_beside_lines_are_no_class():
    stray = candidates(*((OTHER, *place) for place in anywhere(60)))
    letters = candidates(*((LETTER, *place) for place in LETTERS))
    both = Candidates(*(np.concatenate([getattr(letters, k), getattr(stray, k)]) for k in letters.__dataclass_fields__))
    assert mostly(both, TYPICAL, SMALL)[:2].tolist() == [True, False]


def test_dots_over_letters_are_specks_though_they_are_level_with_each_other():
    dots = [(60 * line - 14, 20 * k) for line in range(1, 10) for k in (3, 9)]
    known = page(STOPS)
    asked = candidates(*((DOT, *place) for place in [*STOPS, *dots]))
    assert specks(asked, known, TYPICAL, SMALL).tolist() == [False] * len(STOPS) + [True] * len(dots)


@pytest.mark.parametrize(("down", "share"), [(0, ON_A_LINE), (25, OFF_LINES)])
def test_more_evidence_is_needed_beside_lines(down, share):
    found = page(STOPS)
    found.corner[45, 0] += down
    assert least_evidence(found, TYPICAL, SMALL)[45] == pytest.approx(share * TYPICAL[found.c[45]])


def test_where_there_are_no_lines_nothing_is_beside_them():
    found = candidates(*((k % 3, *place) for k, place in enumerate(anywhere(60))))
    assert not specks(found, found, TYPICAL, SMALL).any()
    assert least_evidence(found, TYPICAL, SMALL) == pytest.approx(LEAST_EVIDENCE * TYPICAL[found.c])


def test_what_owns_hardly_any_of_its_places_is_a_piece():
    found = page([])
    letters = np.nonzero(found.c == LETTER)[0]
    few = found[np.append(np.nonzero(found.c == OTHER)[0], letters[:2])]
    assert pieces(found, few, TYPICAL).tolist() == [True, False, False]
    assert not pieces(found, found, TYPICAL).any()
