from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from unblot.cleaning.closeup import OVERLAP, Sight, ahead, look_closely, owned, sight, support
from unblot.cleaning.passes import Character
from unblot.cleaning.reread import CONFIRMED, DOUBT, Again, reread
from unblot.cleaning.stamps import Stamp
from unblot.detection.candidates import Candidates

SEAM, HEIGHT = 2, 40.0
STEM = np.zeros((44, 14), np.float32)
STEM[2:42, 4:9] = 0.9
BOWL = np.zeros((44, 34), np.float32)
BOWL[20:40, 4:9] = BOWL[20:24, 4:26] = BOWL[36:40, 4:26] = 0.9
LARGE = BOWL.copy()  # a bowl with a stem at its right
LARGE[2:42, 24:29] = 0.9
PICTURES = (STEM, BOWL, LARGE)
TOP = {0: 40, 1: 140, 2: 240}
EACH = 12
EVIDENCE = np.array([300.0, 400.0, 700.0])


def stamp(picture: np.ndarray) -> Stamp:
    own = cv2.dilate((picture > 0).astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    return Stamp(own, picture, picture, SEAM)


STAMPS = {c: stamp(picture) for c, picture in enumerate(PICTURES)}


def reading(c: int, place: tuple[int, int], posterior: float = 0.97) -> Character:
    (top, left), (rows, columns) = place, PICTURES[c].shape
    return Character(c, c, (left, top, left + columns - 2 * SEAM, top + rows - 2 * SEAM), 0.9, posterior, None, 1)


def draw(ink: np.ndarray, c: int, place: tuple[int, int]) -> None:
    (top, left), (rows, columns) = place, PICTURES[c].shape
    part = ink[top - SEAM : top - SEAM + rows, left - SEAM : left - SEAM + columns]
    np.maximum(part, PICTURES[c], out=part)


def place(c: int, n: int) -> tuple[int, int]:
    return TOP[c], 60 + 60 * n


@pytest.fixture
def page() -> np.ndarray:
    """Draw a row of each class, with a little noise."""
    ink = np.zeros((340, 840), np.float32)
    for c in STAMPS:
        for n in range(EACH):
            draw(ink, c, place(c, n))
    noise = np.random.default_rng(0).normal(0, 0.02, ink.shape)
    return np.clip(ink + noise, 0, 1).astype(np.float32)


FOUND = [reading(c, place(c, n)) for c in STAMPS for n in range(EACH)]


SURE = [replace(each, posterior=Again(each, 0.0).probability) for each in FOUND]


def read_again(
    ink: np.ndarray, found: list[Character], others: list[Character], pairs: list[tuple[int, int]], mixed: set[int]
) -> list[Character]:
    """Read anew what was found, given further readings, and which of all readings are rivals."""
    everyone = found + others
    view = look_closely(ink, found, STAMPS, HEIGHT)
    rivals = [np.array([b if a == k else a for a, b in pairs if k in (a, b)], int) for k in range(len(everyone))]
    c = np.array([each.c for each in everyone], int)
    candidates = Candidates(c, np.zeros((len(c), 2), int), EVIDENCE[c], np.full(len(c), 0.9))
    again = reread(view, dict(enumerate(found)), candidates, rivals, mixed, lambda k: everyone[k])
    return [replace(each.character, posterior=each.probability) for each in again]


def test_what_each_pixel_says_adds_up_to_the_log_odds_of_a_reading_against_paper(page):
    view = look_closely(page, FOUND, STAMPS, HEIGHT)
    right, wrong = sight(view, reading(2, place(2, 3))), sight(view, reading(1, place(2, 3)))
    assert right.odds.sum() > 1000
    assert right.odds[~right.own].max() == 0
    assert sight(view, reading(2, (160, 700))).odds.sum() < -1000
    count = owned(view, [right])
    assert count.max() == 1
    lead = ahead(view, count, [wrong], [right])
    assert lead.odds == pytest.approx(float(wrong.odds.sum() - right.odds.sum()), rel=0.05)
    assert lead.explained < 0.7
    assert ahead(view, owned(view, [wrong]), [right], [wrong]).odds == pytest.approx(-lead.odds, rel=0.05)
    assert support(view, count, right) > 0


def test_what_others_own_says_nothing(page):
    view = look_closely(page, FOUND, STAMPS, HEIGHT)
    large, stem = sight(view, reading(2, place(2, 3))), sight(view, reading(0, (place(2, 3)[0], place(2, 3)[1] + 20)))
    bowl = sight(view, reading(1, place(2, 3)))
    alone = ahead(view, owned(view, [bowl]), [large], [bowl])
    beside = ahead(view, owned(view, [bowl, stem]), [large], [bowl])
    assert alone.odds > 500
    assert beside.odds < 0.5 * alone.odds
    assert beside.clear < alone.clear


def test_ink_that_others_own_speaks_against_a_reading_that_claims_it(page):
    view = look_closely(page, FOUND, STAMPS, HEIGHT)
    top, left = place(2, 3)
    bowl, large, stem = (sight(view, reading(c, (top, x))) for c, x in ((1, left), (2, left), (0, left + 20)))
    stems = owned(view, [stem]) > 0
    assert (large.printed & stems[large.there]).sum() > 100

    def worth(each: Sight) -> float:
        others = stems[each.there]
        return float(each.odds[~others].sum()) - OVERLAP * int((each.printed & others).sum())

    lead = ahead(view, owned(view, [bowl, stem]), [large], [bowl])
    assert lead.odds == pytest.approx(worth(large) - worth(bowl), rel=0.01)


def test_whole_characters_stay_as_they_are_and_are_likelier(page):
    other, first = reading(1, place(2, 0)), 2 * EACH
    again = read_again(page, FOUND, [other], [(first, 3 * EACH)], set())
    assert again == SURE
    assert SURE[0].posterior / (1 - SURE[0].posterior) == pytest.approx(CONFIRMED * 0.97 / 0.03)


def test_a_better_reading_is_taken_and_doubtful(page):
    found = [*FOUND[: 2 * EACH], reading(1, place(2, 0)), *FOUND[2 * EACH + 1 :]]
    right, pairs = reading(2, place(2, 0)), [(2 * EACH, 3 * EACH)]
    again = read_again(page, found, [right], pairs, set())
    assert [each.c for each in again] == [*(each.c for each in found if each.box != right.box), 2]
    assert again[-1].box == right.box
    assert again[-1].runner_up == 1
    assert read_again(page, found, [right], pairs, {2})[2 * EACH].c == 1  # a class that mixes letters takes nothing


def test_two_characters_take_the_place_of_one(page):
    top, left = place(0, 11)
    page[top - 4 : top + 50, left - 4 :] = 0
    for right in (0, 20):
        draw(page, 0, (top, left + right))
    page[...] = np.clip(page + np.random.default_rng(1).normal(0, 0.02, page.shape), 0, 1)
    found = [*FOUND[: EACH - 1], reading(2, (top, left)), *FOUND[EACH:]]
    two = [reading(0, (top, left)), reading(0, (top, left + 20))]
    again = read_again(page, found, two, [(EACH - 1, 3 * EACH), (EACH - 1, 3 * EACH + 1)], set())
    assert [each.box for each in again[-2:]] == [each.box for each in two]
    assert len(again) == len(FOUND) + 1


def test_one_character_takes_the_place_of_its_pieces(page):
    top, left = place(2, 0)
    pieces = [reading(1, (top, left), 0.6), reading(0, (top, left + 20), 0.6)]
    found = [*FOUND[: 2 * EACH], *FOUND[2 * EACH + 1 :], *pieces]
    last = len(found) - 1
    again = read_again(page, found, [reading(2, (top, left))], [(last - 1, last + 1), (last, last + 1)], set())
    assert [each.c for each in again if abs(each.box[1] - top) < 5 and each.box[0] < left + 40] == [2]


def test_the_less_is_left_of_a_stem_the_more_doubtful_it_is_until_it_is_read_otherwise(page):
    top, left = place(2, 0)
    other, seen = reading(1, (top, left)), []
    for upper in range(0, 44, 2):
        worn = page.copy()
        worn[top - 4 : top + upper, left + 21 : left + 32] = 0
        again = read_again(worn, FOUND, [other], [(2 * EACH, 3 * EACH)], set())
        seen += [(each.c, each.posterior) for each in again if each.box[:2] == (left, top)]
    large, bowl = ([p for c, p in seen if c == which] for which in (2, 1))
    assert seen == [(2, p) for p in large] + [(1, p) for p in bowl]
    assert large[0] == SURE[0].posterior
    assert large[-1] < DOUBT
    assert bowl[0] < DOUBT
    assert large == sorted(large, reverse=True)


def test_pen_strokes_are_no_characters_and_hidden_letters_are_found(page):
    stroke = page.copy()
    cv2.line(stroke, (700, 10), (790, 330), 0.9, 5)
    chance = reading(0, (160, 738))
    assert read_again(stroke, [*FOUND, chance], [], [], set()) == SURE
    again = read_again(page, FOUND[:-1], [FOUND[-1]], [], set())
    assert [each.box for each in again] == [each.box for each in FOUND]
    assert again[-1] == SURE[-1]


def test_nothing_found_is_nothing_read(page):
    assert read_again(page, [], [], [], set()) == []
