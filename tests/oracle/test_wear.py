"""Worn impressions against sums and integrals written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from unblot.inference.kernels_wear import best_chains, overlaps
from unblot.inference.sheet import LOST, Sheet, look
from unblot.model.wear import WAYS, Wear, make_pattern, ways_to_differ

COVERED = np.zeros((14, 14), bool)
COVERED[2:12, 2:12] = True
PICTURE = np.zeros((14, 14), np.float32)
PICTURE[4:10, 4:7] = 0.8
PICTURE[7:10, 4:10] = 0.6
SIGMA, VEIL = np.full(COVERED.sum(), 0.1, np.float32), np.zeros(COVERED.sum(), np.float32)
NONE = Wear(*[0.0] * len(Wear.__dataclass_fields__))


def page(seed: int, dirt: float, wear: Wear) -> tuple[Sheet, np.ndarray]:
    """Draw an impression on a page of 20 x 20 cells, its frame at (3, 4); give what its cells show too."""
    rng = np.random.default_rng(seed)
    ways, sizes = ways_to_differ(PICTURE, COVERED, wear)
    shown = PICTURE[COVERED] + (rng.normal(size=len(sizes)) * sizes) @ ways + rng.normal(0, 0.03, COVERED.sum())
    cells = np.zeros((20, 20), np.float32)
    cells[3:17, 4:18][COVERED] = shown.clip(0.02, 0.98)
    log_H = rng.normal(size=cells.shape).astype(np.float32)
    return Sheet(cells, log_H, np.full(cells.shape, dirt, np.float32)), cells[3:17, 4:18][COVERED]


@pytest.mark.parametrize("dirt", [0.03, 0.97])
def test_evidence_is_that_of_the_mixture_where_nothing_is_worn(dirt):
    sheet, y = page(0, dirt, NONE)
    pattern = make_pattern(PICTURE, COVERED, SIGMA, VEIL, NONE)
    w = PICTURE[COVERED]
    hidden = np.where(y > w, dirt, LOST)
    density = (1 - hidden) * norm.pdf(y, w, 0.1) + hidden
    seen = look(sheet, pattern, np.array([[3, 4]]))
    assert seen.evidence[0] == pytest.approx((np.log(density) - sheet.log_H[3:17, 4:18][COVERED]).sum(), abs=0.01)
    assert seen.mask[0] == pytest.approx(1 - hidden / density, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_evidence_is_the_integral_over_wear_where_all_masks_are_open(seed, monkeypatch):
    monkeypatch.setattr("unblot.inference.sheet.LOST", 1e-12)
    wear = Wear(moved=0.3, turned=0.2, thick=0.1, tone=0.05, thick_here=0.05, tone_here=0.05, warped=0.05)
    sheet, y = page(seed, 1e-12, Wear(*(0.3 * size for size in vars(wear).values())))
    pattern = make_pattern(PICTURE, COVERED, SIGMA, VEIL, wear)
    kept = np.square(pattern.V).sum(0) > 0
    assert 0 < kept.sum() <= WAYS
    covariance = pattern.V @ pattern.V.T + np.diag(SIGMA**2)
    integral = multivariate_normal.logpdf(y, PICTURE[COVERED], covariance) - sheet.log_H[3:17, 4:18][COVERED].sum()
    assert look(sheet, pattern, np.array([[3, 4]])).evidence[0] == pytest.approx(integral, rel=0.01, abs=1.5)


def test_wear_is_what_tells_a_bold_impression_from_another_letter():
    bold = Wear(moved=0.03, turned=0.03, thick=0.6, tone=0.03, thick_here=0.03, tone_here=0.03, warped=0.03)
    ways, _ = ways_to_differ(PICTURE, COVERED, bold)
    cells = np.zeros((20, 20), np.float32)
    cells[3:17, 4:18][COVERED] = (PICTURE[COVERED] + 0.7 * ways[5]).clip(0, 1)  # its edges all around
    sheet = Sheet(cells, np.zeros_like(cells), np.full(cells.shape, 0.03, np.float32))
    with_it, without = (
        look(sheet, make_pattern(PICTURE, COVERED, SIGMA, VEIL, wear), np.array([[3, 4]])).evidence[0]
        for wear in (bold, NONE)
    )
    assert with_it > without + 20


def chains(x: np.ndarray, half: np.ndarray, value: np.ndarray, terms: dict[tuple[int, int], float]) -> float:
    """Give the value of the best chain of all."""
    best = 0.0
    for count in range(1, len(x) + 1):
        for chain in itertools.combinations(range(len(x)), count):
            pairs = list(itertools.pairwise(chain))
            if all(x[b] - x[a] >= 0.5 * (half[a] + half[b]) for a, b in pairs):
                best = max(best, sum(value[k] for k in chain) + sum(terms.get(pair, 0.0) for pair in pairs))
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_best_chain_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    x, half = np.sort(rng.uniform(0, 60, 9)), rng.uniform(2, 8, 9)
    value = rng.normal(5, 10, 9)
    margin = 3.0
    close = [
        (a, b)
        for a, b in itertools.combinations(range(9), 2)
        if 0.5 * (half[a] + half[b]) <= x[b] - x[a] <= half[a] + half[b] + margin
    ]
    close.sort(key=lambda pair: pair[1])
    terms = -rng.uniform(0, 10, len(close))
    one, other = (np.array([pair[side] for pair in close], np.int64) for side in (0, 1))
    best, before = np.empty(9), np.empty(9, np.int64)
    best_chains(x, half, value, one, other, terms.astype(np.float32), 0.5, margin, best, before)
    exact = chains(x, half, value, dict(zip(close, terms, strict=True)))
    assert max(0.0, best.max()) == pytest.approx(exact, abs=1e-4)


def test_of_two_that_overlap_the_one_with_more_ink_speaks_for_a_cell():
    shown = np.full((2, 4, 4), -1, np.float32)
    odds = np.zeros((2, 4, 4), np.float32)
    shown[0, :2], shown[1, :2] = 0.8, 0.3
    odds[0, :2], odds[1, :2] = 5.0, 2.0
    box, c = np.array([[0, 0, 2, 4], [0, 0, 2, 4]]), np.array([0, 1])
    corner, terms = np.array([[0, 0], [0, 3]]), np.empty(1, np.float32)
    overlaps(shown, odds, box, c, corner, np.array([0]), np.array([1]), np.float32(4.0), terms)
    assert terms[0] == pytest.approx(-2 * (2.0 + 4.0 * 0.3))  # two cells in common
