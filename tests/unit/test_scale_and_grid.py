from __future__ import annotations

import numpy as np
import pytest
import torch

from unblot.grid import CELL, FRAME, make_grid
from unblot.page import Page
from unblot.scale import character_height, page_ink, scale_factor, scaled


def rows_of_boxes(height: int, shape: tuple[int, int] = (600, 800)) -> np.ndarray:
    page = np.zeros(shape, np.float32)
    for top in range(20, shape[0] - 2 * height, 2 * height):
        for left in range(20, shape[1] - height, height):
            page[top : top + height, left : left + height // 2] = 1
    return page


@pytest.mark.parametrize("height", [12, 31, 60])
def test_the_height_of_most_parts_is_found_beside_long_strokes(height):
    page = rows_of_boxes(height)
    page[:, 400:403] = 1
    page[300, :] = 1
    assert character_height(page) == pytest.approx(height, abs=1)


def boxes(*kinds: tuple[int, int, int]) -> np.ndarray:
    """Draw boxes in rows, so many of a height and a width each."""
    page, y, x = np.zeros((1200, 1600), np.float32), 20, 20
    for count, height, width in kinds:
        for _ in range(count):
            if x + width > 1580:
                y, x = y + 60, 20
            page[y : y + height, x : x + width] = 1
            x += width + 12
    return page


@pytest.mark.parametrize(("low", "tall", "height"), [(100, 60, 20), (100, 100, 40), (20, 12, 40)])
def test_of_two_heights_about_as_frequent_the_lower_is_the_characters_where_there_are_many(low, tall, height):
    assert character_height(boxes((low, 20, 10), (tall, 40, 20))) == pytest.approx(height, abs=1)


def test_heights_all_over_are_not_two_heights():
    assert character_height(boxes((100, 20, 10), (45, 26, 13), (33, 33, 16), (56, 42, 21))) == pytest.approx(33, abs=1)


def test_the_scale_is_such_that_wide_letters_which_repeat_fit_into_a_frame():
    assert character_height(boxes((100, 20, 15), (20, 20, 60))) == pytest.approx(60 / 2.25, abs=1)
    words = [(1, 20, width) for width in range(47, 87, 2)]
    assert character_height(boxes((100, 20, 15), *words)) == pytest.approx(20, abs=1)


def test_blank_paper_has_no_height():
    assert character_height(np.zeros((100, 100), np.float32)) is None


@pytest.mark.parametrize("height", [14, 30, 47, 120])
def test_characters_of_all_heights_become_about_as_high(height):
    page = rows_of_boxes(height, (1200, 1200))
    found = character_height(scaled(page, scale_factor(float(height))))
    assert found == pytest.approx(48, rel=0.1)


def test_thick_strokes_of_large_characters_are_ink():
    pixels = np.full((1600, 1600), 255, np.uint8)
    for top in range(100, 1500, 300):
        for left in range(100, 1500, 200):
            pixels[top : top + 150, left : left + 45] = 10
    assert page_ink(Page(pixels)).ink[175, 122] > 0.9


def test_boxes_of_the_grid_lie_where_the_ink_is():
    page = rows_of_boxes(24)
    grid = make_grid(page, 24.0, torch.device("cpu"))
    top, left = 20, 44
    corner = (round(top * grid.factor / CELL) + FRAME[0] - 10, round(left * grid.factor / CELL) + FRAME[1] - 5)
    x0, y0, x1, y1 = grid.on_page(grid.box(corner, (5, 10, 17, 34)))
    assert (x0, y0) == pytest.approx((left, top), abs=1)
    assert (x1 - x0, y1 - y0) == (12, 24)
    window = grid.windows(grid.cells[..., 0], np.array([corner]))[0]
    assert float(window[12:32, 7:15].min()) > 0.8
    assert float(window[12:32, 20:26].max()) < 0.2
