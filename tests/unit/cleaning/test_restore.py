from __future__ import annotations

import cv2
import numpy as np
import pytest

from unblot.cleaning.passes import Character
from unblot.cleaning.restore import protect, restore
from unblot.cleaning.stamps import Stamp
from unblot.ink import ink_and_paper
from unblot.page import Page
from unblot.scale import PageInk

SEAM = 3
LETTER = np.zeros((46, 36), np.float32)
LETTER[SEAM:-SEAM, SEAM : SEAM + 8] = 1
LETTER[20:28, SEAM:-SEAM] = 1
STAMP = Stamp(np.asarray(LETTER > 0), 0.9 * LETTER, 0.9 * LETTER, SEAM)
PAPER = 240


def page_of(places: list[tuple[int, int]]) -> np.ndarray:
    pixels = np.full((300, 700), PAPER, np.uint8)
    for top, left in places:
        part = pixels[top - SEAM : top - SEAM + 46, left - SEAM : left - SEAM + 36]
        part[LETTER > 0] = 24
    return pixels


PLACES = [(100, left) for left in range(60, 600, 60)]
FOUND = [Character(0, 0, (left, top, left + 30, top + 40), 0.95, 0.99, None, 1) for top, left in PLACES]


def restored(pixels: np.ndarray, found: list[Character] = FOUND, white: bool = False, full: float = 0.9):
    stamp = Stamp(STAMP.own, full * LETTER, full * LETTER, SEAM)
    return restore(Page(pixels), inked(pixels), found, {0: stamp}, white)


def inked(pixels: np.ndarray) -> PageInk:
    seen, paper = ink_and_paper(Page(pixels))
    return PageInk(seen, seen, paper, 40.0)


def test_a_clean_page_goes_through_untouched():
    before = page_of(PLACES)
    before[60:63, 300:303] = 200  # a crumb, and no dirt
    result = restored(before)
    assert (result.page.pixels == before).all()
    assert not result.removed
    before[60:63, 300:330] = 60
    assert (restored(before).page.pixels[60:63, 300:330] > 200).all()


def test_a_stroke_is_removed_and_what_it_crossed_stays():
    clean = page_of(PLACES)
    dirty = clean.copy()
    dirty[104:108, 20:680] = 60
    result = restored(dirty)
    after = result.page.pixels
    ink = clean < 128
    assert (after[ink] < 128).mean() > 0.99
    assert (after[104:108][~ink[104:108]] > 128).all()
    assert result.removed  # between the letters that it crosses
    assert all(104 <= y0 < y1 <= 108 for _, y0, _, y1 in result.removed)
    assert not result.kept


def test_where_a_stroke_was_the_paper_has_its_grain():
    noisy = page_of(PLACES) + np.random.default_rng(1).normal(0, 3, (300, 700))
    cv2.line(noisy, (20, 200), (680, 260), 40, 8)
    before = noisy.clip(0, 255).astype(np.uint8)
    after = restored(before).page.pixels.astype(float)
    there = np.zeros(before.shape, np.uint8)
    cv2.line(there, (20, 200), (680, 260), 1, 8)
    refilled, paper = after[there > 0], before[270:295, 20:680].astype(float)
    assert refilled.min() > 200
    assert refilled.mean() == pytest.approx(paper.mean(), abs=1)
    assert refilled.std() == pytest.approx(paper.std(), rel=0.2)


def test_a_letter_under_a_blot_comes_back_from_its_class():
    clean = page_of(PLACES)
    dirty = clean.copy()
    dirty[80:160, 100:170] = 18
    after = restored(dirty).page.pixels
    box = np.s_[100:140, 120:150]
    assert ((after[box] < 128) == (clean[box] < 128)).mean() > 0.97
    assert np.median(after[82:96, 102:168]) > 200


def test_what_a_blot_hides_is_painted_between_pixels():
    soft = cv2.GaussianBlur(0.9 * LETTER, (0, 0), 1.5)
    stamp = Stamp(np.ones(soft.shape, bool), soft, soft, SEAM)
    between = np.array([[1, 0, 0.5], [0, 1, 0]])
    moved = cv2.warpAffine(soft, between, soft.shape[::-1], flags=cv2.INTER_CUBIC).clip(0, 1)
    ink = np.zeros((300, 700), np.float32)
    for top, left in PLACES:
        ink[top - SEAM : top - SEAM + 46, left - SEAM : left - SEAM + 36] = moved
    truth = np.rint(PAPER * (1 - ink)).astype(np.uint8)
    blotted, (top, left) = truth.copy(), PLACES[1]
    blotted[60:118, 100:170] = 18
    result = restore(Page(blotted), inked(blotted), FOUND, {0: stamp}, False).page.pixels
    stem = np.s_[top + 3 : top + 15, left - 3 : left + 14]  # hidden

    def middle(pixels: np.ndarray) -> float:
        dark = (PAPER - pixels[stem].astype(float)).clip(0).sum(0)
        return float((dark * np.arange(len(dark))).sum() / dark.sum())

    assert middle(result) == pytest.approx(middle(truth), abs=0.15)
    assert middle(page_of(PLACES)) < middle(truth) - 0.4


def test_unknown_writing_on_a_line_is_kept_and_a_blob_elsewhere_is_not():
    dirty = page_of(PLACES)
    dirty[100:140, 640:647] = 24  # a stroke of a letter's width beside the last letter
    dirty[250:270, 300:330] = 24
    result = restored(dirty)
    assert result.kept == [(640, 100, 647, 140)]
    assert result.removed == [(300, 250, 330, 270)]
    assert (result.page.pixels[100:140, 640:647] < 128).all()
    assert (result.page.pixels[250:270, 300:330] > 200).all()


def test_a_heading_and_what_is_in_line_with_kept_marks_stay():
    dirty = page_of(PLACES)
    heading = [(left, 10, left + 40, 90) for left in range(60, 480, 60)]  # twice as high as known letters
    for x0, y0, x1, y1 in heading:
        dirty[y0:y1, x0:x1] = 24
        dirty[y0 + 15 : y1 - 15, x0 + 14 : x1 - 14] = PAPER
    dirty[200:207, 80:95] = 24  # two marks make no row
    dirty[200:207, 120:135] = 24
    result = restored(dirty)
    assert result.kept == heading
    assert sorted(result.removed) == [(80, 200, 95, 207), (120, 200, 135, 207)]
    for left in range(160, 400, 40):
        dirty[200:207, left : left + 15] = 24
    assert not restored(dirty).removed


def test_unknown_writing_in_a_stain_and_pale_writing_are_kept():
    stained = page_of(PLACES).astype(float)
    stained[100:140, 640:647] = 24
    stained[:, 610:] *= 0.6
    assert restored(stained.astype(np.uint8)).kept == [(640, 100, 647, 140)]
    pale = PAPER - (PAPER - page_of(PLACES).astype(float)) * 0.4
    pale[100:140, 640:647] = PAPER - 90
    assert restored(pale.astype(np.uint8)).kept == [(640, 100, 647, 140)]


def test_an_unknown_letter_stays_when_the_stroke_across_it_goes():
    clean = page_of(PLACES)
    letter = np.s_[100:140, 600:636]
    clean[letter] = 24
    clean[108:116, 608:628] = clean[124:132, 608:628] = PAPER
    dirty = clean.copy()
    cv2.line(dirty, (470, 10), (690, 200), 30, 5)
    after = restored(dirty).page.pixels
    ink = clean < 128
    assert (after[letter][ink[letter]] < 128).mean() > 0.7
    stroke = (dirty < 128) & ~cv2.dilate(ink.astype(np.uint8), np.ones((5, 5))).astype(bool)
    assert (after[stroke] > 128).mean() > 0.8


@pytest.mark.parametrize(("posterior", "stays"), [(0.7, True), (0.99, False)])
def test_a_ring_stays_where_a_piece_of_it_was_taken_for_a_doubtful_character(posterior, stays):
    noted = page_of(PLACES)
    cv2.circle(noted, (400, 220), 50, 24, 6)
    ring = (noted < 128) & (page_of(PLACES) > 128)
    piece = Character(0, 0, (345, 200, 375, 240), 0.8, posterior, None, 1)
    after = restored(noted, [*FOUND, piece]).page.pixels
    assert ((after[ring] < 128).mean() > 0.95) == stays


def test_notes_and_underlines_stay_unless_strokes_lie_over_the_page():
    noted = page_of(PLACES)
    cv2.circle(noted, (400, 220), 50, 24, 6)
    noted[144:150, 180:360] = 24
    noted[20:25, 20:680] = 24  # a stroke, long and straight
    notes = (noted < 128) & (page_of(PLACES) > 128)
    notes[20:25] = False
    after = restored(noted).page.pixels
    assert (after[notes] < 128).mean() > 0.95
    assert (after[20:25, 20:680] > 200).all()
    for top in (104, 122, 134):
        noted[top : top + 6, 20:680] = 24
    notes[:160] = False
    assert (restored(noted).page.pixels[notes] > 200).mean() > 0.9


def test_an_underline_stays_whose_end_lies_lower_than_its_start():
    noted = page_of(PLACES)
    cv2.line(noted, (60, 143), (580, 165), 24, 4)
    noted[20:25, 20:680] = 24
    notes = (noted < 128) & (page_of(PLACES) > 128)
    notes[20:25] = False
    after = restored(noted).page.pixels
    assert (after[notes] < 128).mean() > 0.95
    assert (after[20:25, 20:680] > 200).all()


def test_gaps_that_the_scanner_blurs_in_pale_ink_stay_open():
    letters = page_of(PLACES)
    for top, left in PLACES:
        letters[top : top + 40, left + 3 : left + 5] = PAPER  # two pixels wide, in a stem of eight
    pale = cv2.GaussianBlur(PAPER - (PAPER - letters.astype(np.float32)) * 0.4, (0, 0), 1.0)
    cv2.line(pale, (40, 60), (660, 90), 100, 5)
    after = restored(pale.astype(np.uint8), full=0.36).page.pixels
    gap = np.stack([after[top + 22 : top + 38, left + 3 : left + 5] for top, left in PLACES])
    beside = np.stack([after[top + 22 : top + 38, left + 1] for top, left in PLACES])
    assert gap.mean() > 170 > 60 > beside.mean()


def test_pale_ink_of_a_dirty_page_becomes_full_ink_and_keeps_its_colour():
    pale = PAPER - (PAPER - page_of(PLACES).astype(float)) * 0.4
    cv2.line(pale, (40, 60), (660, 160), 100, 5)
    after = restored(pale.astype(np.uint8), full=0.36).page.pixels
    ink = page_of(PLACES) < 128
    assert (after[cv2.erode(ink.astype(np.uint8), np.ones((3, 3))) > 0] < 40).mean() > 0.98
    red = np.repeat(page_of(PLACES)[..., None], 3, 2)
    red[ink] = (190, 30, 40)
    cv2.line(red, (40, 60), (660, 160), (0, 0, 0), 5)
    inner = restored(red, full=0.67).page.pixels[cv2.erode(ink.astype(np.uint8), np.ones((5, 5))) > 0].astype(int)
    assert np.median(inner[:, 0] - inner[:, 1:].max(1)) > 100


def test_a_doubtful_character_keeps_its_own_ink():
    pixels = page_of(PLACES)
    odd = np.s_[100:140, 60:68]
    pixels[odd][10:20] = PAPER
    pixels[odd][25:30] = 110
    doubtful = [Character(0, 0, each.box, each.quality, 0.6, 1, 1) for each in FOUND]
    after = restored(pixels, doubtful).page.pixels
    assert (after[odd][10:20] > 200).all()
    assert np.abs(after[odd][26:29].astype(int) - 110).max() < 20


def test_white_paper_is_white_and_protected_boxes_do_not_change():
    dirty = page_of(PLACES)
    dirty[200:220, 20:680] = 90
    result = restored(dirty, white=True)
    assert result.page.pixels[50, 50] == 255
    kept = protect(result.page, Page(dirty), [(100, 190, 300, 230)])
    np.testing.assert_array_equal(kept.pixels[190:230, 100:300], dirty[190:230, 100:300])
    assert (kept.pixels[200:220, 400:500] == 255).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_light_writing_on_dark_paper_and_colour_come_back_as_they_were(channels):
    clean = page_of(PLACES)
    dirty = clean.copy()
    dirty[104:108, 20:680] = 60
    pixels = 255 - dirty if channels == 1 else np.stack([dirty, dirty, dirty // 2], 2)
    after = restored(pixels).page.pixels
    assert after.shape == pixels.shape
    paper = after[50, 300]
    np.testing.assert_allclose(paper, pixels[50, 300], atol=8)
    np.testing.assert_allclose(after[106, 640], pixels[50, 300], atol=12)
