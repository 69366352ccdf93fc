from __future__ import annotations

import numpy as np

from unblot.ink import ink
from unblot.page import Page


def strokes(paper: np.ndarray, contrast: float) -> np.ndarray:
    """Draw lines that let the paper through alike everywhere, as ink does."""
    page = paper.copy()
    for column in range(40, page.shape[1] - 10, 60):
        page[20:-20, column : column + 8] *= 1 - contrast
    return page


def test_ink_is_the_same_on_white_on_grey_and_under_a_blot():
    lightness = np.full((200, 400), 1.0)
    lightness[:, 150:280] = 0.55
    lightness[:, 280:] = 0.2
    found = ink(Page(np.rint(255 * strokes(lightness, 0.9)).astype(np.uint8)))
    for column in (40, 160, 220, 340):
        assert abs(float(found[100, column + 4]) - 0.9) < 0.05
    assert found[100, 200] < 0.03
    assert found[100, 380] < 0.06


def test_blank_paper_has_none_whatever_its_tone():
    for tone in (255, 128, 40):
        assert ink(Page(np.full((90, 90), tone, np.uint8))).max() < 0.01


def test_light_writing_on_dark_paper_is_ink_too():
    page = np.full((120, 120), 20, np.uint8)
    page[40:80, 55:62] = 250
    found = ink(Page(page))
    assert found[60, 58] > 0.8
    assert found[10, 10] < 0.01
