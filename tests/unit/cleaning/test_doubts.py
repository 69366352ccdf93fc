from __future__ import annotations

import cv2
import numpy as np
import pytest

from unblot.cleaning.closeup import look_closely
from unblot.cleaning.doubts import is_text, likely_at_most, mixed
from unblot.cleaning.passes import Character
from unblot.cleaning.reread import DOUBT
from unblot.cleaning.stamps import Stamp
from unblot.scale import PageInk

SEAM = 2
STEM = np.zeros((44, 12), np.float32)
STEM[2:42, 3:9] = 0.9
STAMPS = {0: Stamp(STEM > 0, STEM, STEM, SEAM)}
PLACES = [(30, 60 + 60 * k) for k in range(12)]
LATTER = PLACES[5]


def page() -> np.ndarray:
    ink = np.zeros((200, 800), np.float32)
    for top, left in PLACES:
        ink[top - SEAM : top - SEAM + 44, left - SEAM : left - SEAM + 12] = STEM
    return ink


def limits(ink: np.ndarray, posterior: float) -> list[float]:
    """Give the highest probability that each character may have, all being as likely before."""
    found = [Character(0, 0, (x, y, x + 8, y + 40), 0.9, posterior, None, 1) for y, x in PLACES]
    return likely_at_most(look_closely(ink, found, STAMPS, 40.0), found, 40.0)


def only(value: float) -> list[float]:
    return [value if place == LATTER else 1.0 for place in PLACES]


def test_characters_that_stand_alone_stay_as_they_are():
    assert limits(page(), 0.85) == [1.0] * 12


def test_the_stem_of_an_unknown_letter_is_left_out_and_only_doubted_where_it_was_sure():
    ink, (top, left) = page(), LATTER
    cv2.line(ink, (left + 3, top + 3), (left + 24, top + 36), 0.9, 6)  # an N
    ink[top : top + 40, left + 22 : left + 28] = 0.9
    assert limits(ink, 0.85) == only(0.0)
    assert limits(ink, 0.99) == only(DOUBT)


def test_a_little_more_ink_or_a_dot_above_makes_a_doubt():
    top, left = LATTER
    flag, dot = page(), page()
    flag[top + 2 : top + 7, left + 6 : left + 16] = 0.9
    dot[top - 14 : top - 7, left + 1 : left + 8] = 0.9
    for ink in (flag, dot):
        assert limits(ink, 0.99) == only(DOUBT)


def test_blots_and_long_strokes_are_no_letters():
    (top, left), stroke, blot = LATTER, page(), page()
    cv2.line(stroke, (left + 4, top + 20), (left + 200, top + 150), 0.9, 5)
    cv2.circle(blot, (left + 30, top + 20), 28, 0.9, -1)
    for ink in (stroke, blot):
        assert limits(ink, 0.85) == [1.0] * 12


def test_classes_whose_instances_differ_much_more_than_others_mix_letters():
    assert mixed({0: 0.92, 1: 0.93, 2: 0.9, 3: 0.82}) == {3}
    assert mixed({0: 0.999, 1: 0.998, 2: 0.99, 3: 0.998}) == set()
    assert mixed({}) == set()


@pytest.mark.parametrize(
    ("read", "factor", "text"), [(12, 1, True), (9, 1, True), (5, 1, False), (9, 2, True), (0, 1, False)]
)
def test_a_page_is_text_where_most_marks_as_large_as_characters_are_characters(read, factor, text):
    ink = cv2.resize(page(), None, fx=factor, fy=factor, interpolation=cv2.INTER_NEAREST)
    ink[4:12, 4 : 40 * factor : 6] = 0.9  # specks
    found = [
        Character(0, 0, (factor * x, factor * y, factor * (x + 8), factor * (y + 40)), 0.9, 0.9, None, 1)
        for y, x in PLACES[:read]
    ]
    assert is_text(PageInk(ink, ink, np.ones_like(ink), 44.0 * factor), found) == text


def test_a_page_on_which_nothing_is_as_high_as_characters_is_no_text():
    ink = page()
    assert not is_text(PageInk(ink, ink, np.ones_like(ink), None), [])
