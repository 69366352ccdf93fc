from __future__ import annotations

import cv2
import numpy as np

from unblot.features import STRIDE
from unblot.learning.classes import groups, picture, same_character, strong

FRAME = (40, 30)


def letter(shape: str) -> np.ndarray:
    ink = np.zeros((60, 40), np.float32)
    if shape == "o":
        cv2.circle(ink, (20, 30), 15, 1.0, 6)
    elif shape == "i":
        ink[20:50, 17:23] = 1
        ink[4:12, 17:23] = 1
    elif shape == "x":
        cv2.line(ink, (4, 10), (36, 50), 1.0, 6)
        cv2.line(ink, (36, 10), (4, 50), 1.0, 6)
    return ink


def sheet(shape: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give a page of the same letter between neighbours that differ, and the corners of its patterns."""
    rng = np.random.default_rng(seed)
    ink = np.zeros((700, 900), np.float32)
    corners = []
    for row in range(4):
        for column in range(6):
            top, left = 60 + 150 * row, 60 + 135 * column
            dy, dx = rng.integers(0, 3, 2)
            ink[top + dy : top + dy + 60, left + dx : left + dx + 40] = letter(shape)
            edge = rng.integers(10, 45)
            ink[top + edge : top + edge + 12, left + 62 : left + 75] = 1
            corners.append((top - 27, left - 24))
    return ink, np.array(corners)


def mask() -> np.ndarray:
    A = np.full(FRAME, 0.1, np.float32)
    A[7:31, 6:23] = 0.95
    return A


def test_the_picture_is_the_letter_without_its_neighbours():
    for shape, size in (("o", (37, 37)), ("i", (6, 46))):
        seen = picture(*sheet(shape), mask(), STRIDE)
        assert seen is not None
        x0, y0, x1, y1 = seen.box
        assert abs(x1 - x0 - size[0]) <= 3
        assert abs(y1 - y0 - size[1]) <= 3
        assert seen.ink[:, 75:].max() == 0


def test_too_few_instances_and_ink_at_the_edge_are_no_character():
    ink, corners = sheet("o")
    assert picture(ink, corners[:4], mask(), STRIDE) is None
    assert picture(ink, corners + np.array([0, 40]), np.full(FRAME, 0.95, np.float32), STRIDE) is None


def test_a_stroke_that_goes_on_is_no_character_but_a_straight_letter_is():
    ink = np.zeros((700, 900), np.float32)
    cv2.line(ink, (100, 0), (100, 699), 1.0, 7)
    corners = np.array([(row, 100 - 45) for row in range(0, 500, 60)])
    assert picture(ink, corners, mask(), STRIDE) is None
    assert picture(*sheet("i"), mask(), STRIDE) is not None


def test_strokes_that_cross_anyhow_do_not_agree():
    rng = np.random.default_rng(1)
    ink = np.zeros((900, 900), np.float32)
    corners = []
    for row in range(4):
        for column in range(5):
            top, left = 40 + 200 * row, 40 + 160 * column
            middle = np.array([left + 45, top + 60])
            for _ in range(2):
                angle = rng.uniform(0, np.pi)
                reach = (25 * np.array([np.cos(angle), np.sin(angle)])).astype(int)
                cv2.line(ink, tuple(map(int, middle - reach)), tuple(map(int, middle + reach)), 1.0, 7)
            corners.append((top, left))
    assert picture(ink, np.array(corners), mask(), STRIDE) is None


def test_classes_of_one_letter_are_one_character():
    o, again, x, i = (
        picture(*sheet(shape, seed), mask(), STRIDE) for shape, seed in zip("ooxi", range(4), strict=True)
    )
    assert same_character(o, again)
    assert not same_character(o, x)
    assert groups([None, o, x, again, None, i]).tolist() == [-1, 0, 1, 0, -1, 2]


def test_a_character_has_a_strong_mask():
    A = np.zeros((3, *FRAME), np.float32)
    A[0, 5:15, 5:15] = 0.9
    A[1, 5:15, 5:15] = 0.6
    A[2, 5:8, 5:8] = 0.99
    assert strong(A).tolist() == [True, False, False]
