"""Two made-up letters, one with a dot, on a page with a stroke: what repeats is found, whole, and once."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch

from unblot.grid import FRAME, Grid, make_grid
from unblot.learning.merging import merge
from unblot.learning.parts import find_components, find_parts
from unblot.learning.seeds import LEVELS, Seed, find_seeds
from unblot.learning.windows import (
    PRINTED,
    alone,
    around_small,
    evidence,
    fit,
    frames,
    own_shape,
    page_background,
    stands_free,
    whole_part,
    within,
)
from unblot.model.theta import Theta

PLACES = [(top, left) for top in range(60, 700, 110) for left in range(60, 800, 90)]


def seeds_on(grid: Grid, level: float = LEVELS[0], taken: np.ndarray | None = None) -> list[Seed]:
    return find_seeds(grid, find_components(grid.ink, level), taken)


def dotted(page: np.ndarray, top: int, left: int) -> None:
    page[top + 16 : top + 48, left + 10 : left + 18] = 1
    page[top : top + 8, left + 10 : left + 18] = 1


def ring(page: np.ndarray, top: int, left: int) -> None:
    cv2.circle(page, (left + 20, top + 28), 18, 1.0, 6)


@pytest.fixture(scope="module")
def grid() -> Grid:
    page = np.zeros((800, 900), np.float32)
    for number, (top, left) in enumerate(PLACES):
        (dotted, ring)[number % 2](page, top, left)
    cv2.line(page, (0, 80), (899, 700), 1.0, 4)
    return make_grid(page, 48.0, torch.device("cpu"))


def test_both_letters_start_a_class_and_the_dot_comes_with_its_stem(grid):
    seeds = seeds_on(grid)
    assert len(seeds) == 2
    heights = sorted(int(np.ptp(np.nonzero((seed.part > 0.5).any(1))[0])) + 1 for seed in seeds)
    assert heights == [pytest.approx(20, abs=2), pytest.approx(24, abs=2)]
    assert sum(len(seed.corners) for seed in seeds) > 0.6 * len(PLACES)


@pytest.mark.parametrize(("gap", "down", "wide"), [(6, 0, 22), (6, 12, 8), (24, 0, 8)])
def test_two_small_strokes_even_and_close_side_by_side_are_one_part(gap, down, wide):
    page = np.zeros((300, 900), np.float32)
    for left in range(60, 840, 90):
        page[60:78, left : left + 8] = 1
        page[60 + down : 78 + down, left + 8 + gap : left + 16 + gap] = 1
        ring(page, 160, left)
    parts = find_parts(page, find_components(page, 0.4))
    top, left, bottom, right = parts.box.T
    assert set((right - left)[bottom - top < 40]) == {wide}


def test_parts_that_are_taken_start_nothing(grid):
    rings = max(seeds_on(grid), key=lambda seed: int(np.ptp(np.nonzero((seed.part > 0.5).any(0))[0])))
    taken = np.zeros(grid.shape, bool)
    for row, column in rings.corners:
        taken[row : row + FRAME[0], column : column + FRAME[1]] |= rings.part > 0.2
    (left,) = seeds_on(grid, taken=taken)
    assert np.abs(left.corners[:, None] - rings.corners[None]).max(2).min() > 10
    assert seeds_on(grid, taken=np.ones(grid.shape, bool)) == []


def test_of_what_is_left_crumbs_of_letters_and_faint_spots_start_nothing():
    page = np.zeros((800, 900), np.float32)
    for number, (top, left) in enumerate(PLACES):
        ring(page, top, left)
        if number % 3 == 0:
            cv2.circle(page, (left + 20, top + 28), 4, 1.0, -1)  # inside of the ring, as pieces of letters are
        elif number % 3 == 1:
            cv2.circle(page, (left + 70, top + 28), 4, 1.0, -1)
        else:
            cv2.circle(page, (left + 70, top + 28), 4, 0.2, -1)
    grid = make_grid(page, 48.0, torch.device("cpu"))
    (rings,) = (seed for seed in seeds_on(grid) if np.ptp(np.nonzero((seed.part > 0.5).any(0))[0]) > 10)
    taken = np.zeros(grid.shape, bool)
    for row, column in rings.corners:
        taken[row : row + FRAME[0], column : column + FRAME[1]] |= rings.part > 0.2
    (dots,) = seeds_on(grid, LEVELS[1], taken)
    assert len(dots.corners) == sum(number % 3 == 1 for number in range(len(PLACES)))


def test_no_ink_and_nothing_that_repeats_start_nothing():
    blank = np.zeros((300, 300), np.float32)
    assert seeds_on(make_grid(blank, 48.0, torch.device("cpu"))) == []
    blank[100:140, 100:130] = 1
    assert seeds_on(make_grid(blank, 48.0, torch.device("cpu"))) == []


def learned(grid: Grid, seeds: list[Seed]) -> tuple[Theta, list, torch.Tensor]:
    log_H = page_background(grid).log_prob(grid.cells)
    theta = fit(grid, log_H, [seed.corners for seed in seeds])
    shapes = [own_shape(theta.W[k, ..., 0].numpy(), theta.A[k].numpy(), s.part, False) for k, s in enumerate(seeds)]
    return within(theta, shapes), shapes, log_H


def test_patterns_are_the_letters_and_their_evidence_is_at_their_places(grid):
    seeds = seeds_on(grid)
    theta, shapes, log_H = learned(grid, seeds)
    for c, (seed, shape) in enumerate(zip(seeds, shapes, strict=True)):
        ink = theta.W[c, ..., 0].numpy()[shape.own]
        assert np.median(ink) > 0.7
        assert theta.A[c].numpy()[~cv2.dilate(shape.own.astype(np.uint8), np.ones((9, 9))).astype(bool)].max() == 0
        there = evidence(grid, log_H, theta, np.full(len(seed.corners), c), seed.corners)
        aside = evidence(grid, log_H, theta, np.full(len(seed.corners), c), grid.inside(seed.corners + 9))
        assert np.median(there) > 100
        assert np.median(aside) < 0


def test_evidence_of_the_page_is_that_of_the_window_alone(grid):
    """The page as one patch gives what the E-step gives for the frame cut out of it."""
    from unblot.inference.batch import States
    from unblot.inference.estep import posterior_on
    from unblot.model.likelihood import terms

    seeds = seeds_on(grid)
    theta, _, log_H = learned(grid, seeds)
    corners = seeds[1].corners[:5]
    batch = frames(grid, log_H, corners)
    tables = terms(theta, FRAME)
    c = torch.ones(5, dtype=torch.int64)
    alone = posterior_on(batch, tables, States(torch.arange(5), c, torch.zeros_like(c))).log_evidence - tables.prior[1]
    everywhere = evidence(grid, log_H, theta, c.numpy(), corners)
    np.testing.assert_allclose(everywhere, alone.numpy(), rtol=1e-4, atol=1e-2)


def test_halves_of_a_class_are_merged_and_different_letters_are_not(grid):
    first, second = seeds_on(grid)
    halves = [Seed(first.corners[0::2], first.part), Seed(first.corners[1::2], first.part), second]
    theta, shapes, log_H = learned(grid, halves)
    of_class = np.repeat(np.arange(3), [len(s.corners) for s in halves])
    found = evidence(grid, log_H, theta, of_class, np.concatenate([s.corners for s in halves]))
    typical = np.array([np.median(found[of_class == c]) for c in range(3)], np.float32)
    merged = merge(grid, log_H, theta, halves, shapes, typical)
    assert sorted(len(seed.corners) for seed in merged) == sorted([len(first.corners), len(second.corners)])


def syllables(beside: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a ring, a bar to its right or none, and other marks now on this side, now on that."""
    ring, bar = np.zeros(FRAME, np.float32), np.zeros(FRAME, np.float32)
    ring[18:30, 16:18] = ring[18:30, 26:28] = ring[18:20, 16:28] = ring[28:30, 16:28] = 1.0
    bar[14:34, 34:37] = 1.0
    cells = np.stack([np.maximum(ring, bar * beside) for _ in range(40)])
    cells[::2, 18:30, 6:10] = 1.0
    cells[1::2, 18:30, 44:50] = 1.0
    return ring, bar, cells


def test_a_piece_is_never_free_on_the_side_of_its_rest_and_takes_it_in():
    ring, bar, cells = syllables(beside=True)
    W, A = np.median(cells, 0), np.ones(FRAME, np.float32)
    assert not stands_free(cells, ring > PRINTED, broken=True)
    assert stands_free(cells, np.maximum(ring, bar) > PRINTED, broken=True)
    assert (whole_part(W, A, ring, cells, broken=True) == np.maximum(ring, bar)).all()


def test_a_letter_that_stands_free_stays_as_it_is():
    ring, _, cells = syllables(beside=False)
    assert stands_free(cells, ring > PRINTED, broken=True)
    W = np.median(cells, 0)
    assert (whole_part(W, np.ones(FRAME, np.float32), ring, cells, broken=True) == ring).all()


def test_wide_letters_repeat_as_well():
    page = np.zeros((800, 1200), np.float32)
    for number in range(20):
        left, top = 60 + 220 * (number % 5), 60 + 170 * (number // 5)
        cv2.rectangle(page, (left, top), (left + 96, top + 44), 1.0, 5)  # twice as wide as high
    seeds = seeds_on(make_grid(page, 48.0, torch.device("cpu")))
    assert [len(seed.corners) for seed in seeds] == [20]


@pytest.mark.parametrize(("count", "worn", "classes"), [(3, False, 2), (2, False, 1), (3, True, 1)])
def test_three_parts_are_enough_if_they_are_the_same(count, worn, classes):
    page = np.zeros((300, 1000), np.float32)
    for number in range(8):
        ring(page, 60, 60 + 90 * number)
    for number in range(count):
        top, left = 180, 60 + 90 * number
        page[top : top + 48, left : left + 8] = page[top + 20 : top + 28, left : left + 40] = 1
        page[top : top + 48, left + 32 : left + 40] = 1
        page[top + 14 * number : top + 14 * number + 10, left : left + 40 * worn] = 0
    assert len(seeds_on(make_grid(page, 48.0, torch.device("cpu")))) == classes


@pytest.mark.parametrize(("dot", "beside", "whole"), [(True, 1.5, True), (True, 2.5, False), (False, 1.5, False)])
def test_of_worn_small_marks_more_may_be_reliable_beside_them(dot, beside, whole):
    part = np.zeros(FRAME, np.float32)
    part[30:36, 26:33] = 0.9
    if not dot:
        part[12:36, 26:33] = 0.9
    W, A = part.copy(), np.where(part > 0, 0.99, 0.1).astype(np.float32)
    other = np.zeros(FRAME, bool)
    other[12:36, 4 : 4 + round(beside * (part > 0).sum() / 24)] = True
    W[other] = A[other] = 0.99
    assert (own_shape(W, A, part, True) is not None) == whole


@pytest.mark.parametrize(("top", "left", "free"), [(30, 38, True), (30, 35, False), (40, 26, False), (46, 26, True)])
def test_small_marks_stand_alone_with_neighbours_beside_them_but_nothing_close_above_or_below(top, left, free):
    own = np.zeros(FRAME, bool)
    own[30:36, 26:33] = True
    cells = 0.9 * own.astype(np.float32)
    cells[top : top + 8, left : left + 6] = 0.9
    assert alone(cells, around_small(own)) == free


def test_the_bars_of_an_equals_sign_are_one_part_and_dashes_below_each_other_are_two():
    page = np.zeros((200, 400), np.float32)
    page[52:57, 100:140] = page[66:71, 100:140] = 1
    page[40:45, 200:240] = page[110:115, 200:240] = 1  # dashes of two lines
    page[40:45, 260:300] = page[54:59, 280:320] = 1  # and two that are not even
    boxes = find_parts(page, find_components(page, 0.4)).box.tolist()
    assert sorted(boxes) == [
        *([40, 200, 45, 240], [40, 260, 45, 300], [52, 100, 71, 140]),
        *([54, 280, 59, 320], [110, 200, 115, 240]),
    ]
