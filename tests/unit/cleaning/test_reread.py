from __future__ import annotations

from dataclasses import replace

import numpy as np

from unblot.cleaning.passes import Character
from unblot.cleaning.reread import DOUBT, reread
from unblot.cleaning.stamps import Stamp

SEAM = 2
BOWL = np.zeros((44, 34), np.float32)
BOWL[20:40, 4:8] = BOWL[20:24, 4:26] = BOWL[36:40, 4:26] = 0.9
LARGE = BOWL.copy()
LARGE[4:40, 24:30] = 0.9
STAMPS = {c: Stamp(picture > 0, picture, picture, SEAM) for c, picture in enumerate((BOWL, LARGE))}
PLACES = [(30, 40 + 50 * k) for k in range(12)]
SMALL_PLACES = [(150, 40 + 50 * k) for k in range(12)]


def page() -> np.ndarray:
    ink = np.zeros((240, 700), np.float32)
    for places, picture in ((PLACES, LARGE), (SMALL_PLACES, BOWL)):
        for top, left in places:
            ink[top - SEAM : top - SEAM + 44, left - SEAM : left - SEAM + 34] = picture
    return ink


def reading(c: int, place: tuple[int, int]) -> Character:
    return Character(c, c, (place[1], place[0], place[1] + 30, place[0] + 40), 0.9, 0.97, 1 - c, 1)


FOUND = [reading(1, place) for place in PLACES] + [reading(0, place) for place in SMALL_PLACES]
SECONDS: list[Character | None] = [reading(0, place) for place in PLACES] + [None] * 12


def test_whole_characters_stay_as_they_are():
    assert reread(page(), FOUND, SECONDS, STAMPS) == FOUND


def test_the_second_reading_is_taken_where_all_of_it_is_there_and_the_first_is_not_whole():
    ink = page()
    top, left = PLACES[3]
    ink[top + 2 : top + 12, left + 20 : left + 32] = 0  # the upper end of the stem
    read = reread(ink, FOUND, SECONDS, STAMPS)
    assert read[3].c == 0
    assert read[3].posterior == DOUBT
    assert read[3].runner_up == 1
    assert read[:3] + read[4:] == FOUND[:3] + FOUND[4:]


def test_what_is_not_whole_and_has_no_better_reading_is_doubtful():
    ink = page()
    top, left = PLACES[5]
    ink[top + 16 : top + 26, left : left + 15] = 0  # a piece of the bowl: both readings miss it
    for seconds in (SECONDS, [None] * 24):
        read = reread(ink, FOUND, seconds, STAMPS)
        assert read[5] == replace(FOUND[5], posterior=DOUBT)
        assert read[:5] + read[6:] == FOUND[:5] + FOUND[6:]


def test_nothing_found_is_nothing_read():
    assert reread(page(), [], [], STAMPS) == []
