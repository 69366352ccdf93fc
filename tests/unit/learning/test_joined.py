"""Made-up joined writing: letters that hang from a line through the word, one of them of two pieces, one with a dot."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch
from scipy.interpolate import CubicSpline

from unblot.cleaning.whole import find_whole, learn_whole
from unblot.errors import NothingFoundError
from unblot.learning.joined import find_joined
from unblot.learning.parts import Components, find_components
from unblot.progress import silent
from unblot.scale import PageInk, character_height

WIDTH, LINE, LETTERS = 44, 6, "rbtd"


def draw(page: np.ndarray, letter: str, top: int, left: int) -> None:
    """Draw a ring, a ring with a bar beside it, a bar with a foot, the same with a dot below."""
    if letter in "rb":
        cv2.circle(page, (left + 14, top + 26), 9, 1.0, 5)
        page[top : top + 16, left + 12 : left + 17] = 1
    if letter == "b":
        page[top : top + 46, left + 32 : left + 38] = 1
    if letter in "td":
        page[top : top + 40, left + 10 : left + 16] = 1
        page[top + 35 : top + 40, left + 10 : left + 28] = 1
    if letter == "d":
        page[top + 46 : top + 53, left + 12 : left + 19] = 1


def written(apart: bool) -> tuple[np.ndarray, list[tuple[str, int, int]]]:
    """Make a page of random words, and give each letter's top and left."""
    rng = np.random.default_rng(5)
    page, truth = np.zeros((1000, 1200), np.float32), []
    for top in range(60, 900, 90):
        left = 40
        while left < 900:
            for letter in rng.choice(list(LETTERS), int(rng.integers(2, 6))):
                draw(page, letter, top, left)
                page[top : top + LINE, left + 2 * apart : left + WIDTH - 2 * apart] = 1
                truth.append((str(letter), top, left))
                left += WIDTH
            left += 30
    return cv2.GaussianBlur(page, (0, 0), 0.8), truth


def handwritten() -> np.ndarray:
    """Draw words of curves that are never the same twice."""
    rng = np.random.default_rng(6)
    page = np.zeros((1200, 1200), np.float32)
    for base in range(80, 1150, 80):
        left = 40.0
        while left < 900:
            count = int(rng.integers(6, 16))
            right, up = left + np.cumsum(rng.uniform(6, 14, count)), rng.choice([0, 4, 20, 24, 44], count)
            bends = CubicSpline(np.arange(count), np.stack([right, base - up - rng.normal(0, 3, count)], 1))
            curve = bends(np.linspace(0, count - 1, 14 * count))
            cv2.polylines(page, [np.rint(curve).astype(np.int32)], False, 1.0, 4)
            left = float(right[-1]) + 30
    return cv2.GaussianBlur(page, (0, 0), 0.8)


@pytest.fixture(scope="module")
def word_page() -> tuple[np.ndarray, Components, list[tuple[str, int, int]]]:
    page, truth = written(apart=False)
    return page, find_components(page, 0.4), truth


def inked(page: np.ndarray) -> PageInk:
    return PageInk(page, page, np.ones_like(page), character_height(page))


def test_letters_that_stand_apart_and_handwriting_are_no_joined_writing():
    page = written(apart=True)[0]
    assert find_joined(page, find_components(page, 0.4)) is None
    assert find_joined(np.zeros_like(page), find_components(np.zeros_like(page), 0.4)) is None
    page = handwritten()
    assert find_joined(page, find_components(page, 0.4)) is None
    with pytest.raises(NothingFoundError):
        learn_whole([inked(page)], None, 0.5, torch.device("cpu"), silent)


def test_every_letter_is_one_part_with_its_second_piece_and_its_dot(word_page):
    page, components, truth = word_page
    parts = find_joined(page, components)
    assert parts is not None
    assert len(parts) == pytest.approx(len(truth), rel=0.02)
    lowest = {"r": 37, "b": 46, "t": 40, "d": 53}
    right = {"r": 25, "b": 38, "t": 28, "d": 28}
    found = {(top, (left - 40) // 2): (bottom, end) for top, left, bottom, end in parts.box.tolist()}
    met = 0
    for letter, top, left in truth:
        near = [found[key] for key in found if abs(key[0] - top) < 4 and 0 <= 2 * key[1] + 40 - left < 14]
        met += any(abs(b - top - lowest[letter]) <= 3 and abs(e - left - right[letter]) <= 4 for b, e in near)
    assert met > 0.95 * len(truth)


def test_a_page_of_joined_writing_is_read(word_page):
    page, _, truth = word_page
    model = learn_whole([inked(page)], None, 0.5, torch.device("cpu"), silent)
    found = find_whole(inked(page), model, 0.5, silent)
    assert len(LETTERS) == model.theta.C
    assert len(found) == pytest.approx(len(truth), rel=0.03)
    read = {}
    for letter, top, left in truth:
        near = [each.c for each in found if abs(each.box[1] - top) < 10 and -4 <= each.box[0] - left < 20]
        assert len(near) <= 1
        if near:
            read.setdefault(letter, []).append(near[0])
    assert all(len(set(classes)) == 1 for classes in read.values())
    assert len({classes[0] for classes in read.values()}) == len(LETTERS)


def test_wide_letters_that_stand_apart_are_no_words():
    page = np.zeros((1000, 1200), np.float32)
    for top in range(60, 900, 90):
        for k, left in enumerate(range(40, 1000, 110)):
            page[top : top + 40, left : left + 90] = 1
            page[top + 8 : top + 32, left + 8 : left + 80 - 30 * (k % 3)] = 0
    assert find_joined(page, find_components(page, 0.4)) is None
