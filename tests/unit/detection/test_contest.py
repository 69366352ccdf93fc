"""Rivals on hand-made pages: x-high frames with two and three stems (n, m), a long stem (h), one stem alone, blocks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from unblot.detection.candidates import Candidates
from unblot.detection.contest import contest, crowded, view
from unblot.detection.owners import Ink, find_rivals
from unblot.detection.together import together
from unblot.grid import FRAME, Grid
from unblot.learning.windows import RING, Shape, evidence, grown, within
from unblot.model.likelihood import LEAST_A
from unblot.model.theta import Theta

N, H, STEM, BLOCK, WIDE, M = range(6)
TYPICAL = np.array([200.0, 280.0, 100.0, 290.0, 750.0, 300.0])
PAGE = (140, 200)


class Page:
    """Cells of ink with noise, patterns of the shapes, and candidates with their evidence."""

    def __init__(self, cells: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        self.cells = torch.from_numpy(np.clip(cells + rng.normal(0, 0.03, cells.shape), 0, 1))[..., None].float()
        self.own = np.zeros((len(TYPICAL), *FRAME), bool)
        for c in (N, H):
            self.own[c, 20:38, 10:13] = self.own[c, 20:38, 20:23] = self.own[c, 20:23, 10:23] = True
        self.own[H, 8:38, 10:13] = True
        self.own[STEM, 20:38, 10:13] = True
        self.own[BLOCK, 20:38, 10:22] = self.own[WIDE, 20:38, 10:43] = True
        for left in (10, 16, 26):
            self.own[M, 20:38, left : left + 3] = self.own[M, 20:23, 10:29] = True
        W = torch.from_numpy(np.where(self.own, 0.9, 0.02)).float()[..., None]
        theta = Theta(
            W, torch.full_like(W, 0.02), torch.full(W.shape[:3], 0.9), torch.full_like(W[:, 0, 0, 0], 1 / len(W))
        )
        shapes = [Shape(own, (0, 0, 1, 1)) for own in self.own]
        self.theta = within(theta, shapes)
        ink, paper = (torch.distributions.Normal(mean, 0.14).log_prob(self.cells[..., 0]) for mean in (0.9, 0.02))
        self.log_H = torch.logaddexp(ink + np.log(0.15), paper + np.log(0.85))
        self.inks = [Ink(own[:38, :43], 0, 0) for own in self.own]

    def candidates(self, *rows: tuple[int, int, int]) -> Candidates:
        states = np.array(rows)
        grid = Grid(np.zeros((1, 1), np.float32), 1.0, self.cells)
        found = evidence(grid, self.log_H, self.theta, states[:, 0], np.ascontiguousarray(states[:, 1:]))
        return Candidates(states[:, 0], states[:, 1:], found, np.ones(len(rows), np.float32))

    def winners(self, held: list[int], *rows: tuple[int, int, int], broken: bool = False) -> list[int]:
        found = self.candidates(*rows)
        seen = view(self.cells, self.log_H, self.theta, self.own)
        winning = contest(seen, found, np.array(held), find_rivals(found, self.inks), TYPICAL, None, broken)
        return sorted(winning.tolist())


def drawn(c: int, *places: tuple[int, int], gap: slice | None = None) -> np.ndarray:
    cells, own = np.zeros(PAGE), Page(np.zeros(PAGE)).own[c].copy()
    if gap is not None:
        own[gap] = False
    for y, x in places:
        cells[y : y + FRAME[0], x : x + FRAME[1]][own] = 0.9
    return cells


@pytest.mark.parametrize("held", [[0], [1]])
def test_a_stem_that_only_one_rival_has_speaks_for_it(held):
    rows = ((N, 30, 30), (H, 30, 30))
    assert Page(drawn(H, (30, 30))).winners(held, *rows) == [1]
    assert Page(drawn(H, (30, 30), gap=slice(15, 18))).winners(held, *rows) == [1]
    assert Page(drawn(N, (30, 30))).winners(held, *rows) == [0]


def test_a_stroke_that_goes_on_is_no_stem():
    cells = drawn(N, (30, 30))
    cells[10:52, 40:43] = 0.9  # down to the x-height, and up beyond where an h ends
    assert Page(cells).winners([0], (N, 30, 30), (H, 30, 30)) == [0]


def test_one_that_sees_more_wins_over_two():
    page = Page(drawn(N, (30, 30)))
    assert page.winners([1, 2], (N, 30, 30), (STEM, 30, 30), (STEM, 30, 40)) == [0]


def test_a_further_character_must_see_much_more():
    page = Page(drawn(STEM, (30, 30), (30, 40)))  # an n without its arch
    assert page.winners([1, 2], (N, 30, 30), (STEM, 30, 30), (STEM, 30, 40)) == [0]


def test_two_win_over_two_that_each_keeps_out():
    page = Page(drawn(N, (30, 30), (30, 46)))
    rows = ((N, 30, 30), (N, 30, 46), (STEM, 30, 30), (M, 30, 40))  # the m has a stem of the first n
    assert page.winners([2, 3], *rows) == [0, 1]


@pytest.mark.parametrize(("broken", "worn", "winning"), [(False, 6, [1, 2]), (True, 0, [1, 2]), (True, 6, [0])])
def test_two_that_see_more_win_over_one_unless_they_are_pieces(broken, worn, winning):
    cells = drawn(BLOCK, (30, 30), (30, 51))
    cells[68 - worn : 68] = 0
    page = Page(cells + drawn(N, (30, 100), (30, 140)))
    rows = ((WIDE, 30, 30), (BLOCK, 30, 30), (BLOCK, 30, 51), (N, 30, 100), (N, 30, 140))
    assert page.winners([0, 3, 4], *rows, broken=broken) == [*winning, 3, 4]


def test_ink_that_a_neighbour_owns_speaks_against_who_claims_it():
    page = Page(drawn(STEM, (30, 30)) + drawn(N, (30, 40)))
    assert page.winners([0, 2], (N, 30, 30), (STEM, 30, 30), (N, 30, 40)) == [1, 2]


def test_what_its_rivals_have_left_is_held_by_who_waited():
    page = Page(drawn(BLOCK, (30, 30), (30, 51)) + drawn(H, (80, 30)))
    rows = ((WIDE, 30, 30), (BLOCK, 30, 30), (BLOCK, 30, 51), (H, 80, 30))
    assert page.winners([3], *rows) == [1, 2, 3]


def test_ink_that_a_neighbour_owns_speaks_for_nobody():
    cells = drawn(N, (30, 30), (30, 46))
    rows = ((N, 30, 30), (N, 30, 46), (STEM, 30, 42))
    assert Page(cells).winners([0, 1, 2], *rows) == [0, 1]  # the third is a piece of the second's own ink


def test_a_small_mark_stands_alone():
    stroke = [(y, 120) for y in (12, 30, 48, 66)]
    page = Page(drawn(N, (30, 30), (30, 46)) + drawn(STEM, (30, 80)) + drawn(STEM, *stroke))
    found = page.candidates((STEM, 30, 40), (STEM, 30, 80), (STEM, 30, 120), (N, 30, 30))
    seen = view(page.cells, page.log_H, page.theta, page.own)
    assert crowded(seen, found, TYPICAL, broken=False).tolist() == [False, False, True, False]
    assert crowded(seen, found, TYPICAL, broken=True).tolist() == [True, False, True, False]
    many = found[np.array([0, 1, 1, 1, 2])]
    assert not crowded(seen, many, TYPICAL, broken=False).any()  # strokes hardly ever look like it


def pairs_of(first: int, second: int, beside: int, alone: int) -> Candidates:
    rows = [(c, 20 * k, 30 + x) for k in range(10) for c, x in ((first, 0), (second, beside))]
    rows += [(second, 20 * k, 150 + 3 * k) for k in range(alone)]
    states = np.array(rows)
    return Candidates(states[:, 0], states[:, 1:], np.ones(len(rows), np.float32), np.ones(len(rows), np.float32))


@pytest.mark.parametrize(("first", "second"), [(STEM, STEM), (N, STEM), (STEM, N)])
def test_parts_that_always_come_together_are_one_character(first, second):
    own = Page(np.zeros(PAGE)).own
    shapes = [Shape(each, (10, 8, 23, 38)) for each in own[:BLOCK]]
    worth = np.ones(3, np.float32)
    found, joined, typical = together(pairs_of(first, second, 14, 1), shapes, worth)
    assert found.c.tolist() == [3] * 10
    assert typical.tolist() == [1, 1, 1, 2]
    assert joined[3].own.sum() == own[first].sum() + own[second].sum()
    box = joined[3].box
    assert joined[3].own[box[1] : box[3], box[0] : box[2]].sum() == joined[3].own.sum()
    apart = together(pairs_of(first, second, 14, 30), shapes, worth)
    assert sorted(set(apart[0].c.tolist())) == sorted({first, second})


def test_the_view_agrees_with_the_evidence_of_the_kernels():
    page = Page(drawn(H, (30, 30)))
    found = page.candidates((H, 30, 30), (N, 31, 29))
    seen = view(page.cells, page.log_H, page.theta, page.own)
    for k in range(2):
        odds = seen.odds(int(found.c[k]), found.corner[k])
        covered = grown(page.own[found.c[k]], RING)
        assert np.isfinite(odds[covered]).all()
        least = LEAST_A * (~covered).sum()  # what no mask covers counts that much for the kernels
        assert odds[covered].sum() == pytest.approx(found.evidence[k], rel=0.01, abs=least)
