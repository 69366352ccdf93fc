"""Ink: how dark each pixel is against the paper just around it.

Characters under a grey spot, in coffee or in the shade of a book's fold are as dark against their paper as others are
against white; even those under a black blot mostly are. Divided by the paper's lightness, all of them look alike.
"""

from __future__ import annotations

import cv2
import numpy as np
from jaxtyping import Float

from unblot.page import Page, darkness
from unblot.strips import in_strips

REACH = 31  # pixels: wider than a pen's stroke, narrower than a spot
GRAIN = 1.0  # standard deviation of the smoothing that keeps the scanner's grain out of the paper's lightness
SOFTNESS = 3.0  # of the paper's lightness, so that a spot's edge leaves no line
TAILS = 4  # standard deviations that smoothing looks at
DARKEST_PAPER = 0.12  # paper below this lightness would only show the scanner's grain


def ink(page: Page, reach: int = REACH) -> Float[np.ndarray, "H W"]:
    """Give 0 for paper and 1 for full ink; `reach` is the width of what counts as ink.

    >>> paper = np.full((60, 60), 160, np.uint8)
    >>> paper[28:33] = 16
    >>> [round(float(ink(Page(paper))[row, 30]), 1) for row in (30, 5)]
    [0.9, 0.0]
    """
    return ink_and_paper(page, reach)[0]


def ink_and_paper(page: Page, reach: int = REACH) -> tuple[Float[np.ndarray, "H W"], Float[np.ndarray, "H W"]]:
    """Give the ink, and how light the paper around it is, stains included."""
    reverse = page.light_on_dark()

    def of_strip(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dark = darkness(pixels, reverse)
        lightness = np.subtract(1, dark, out=dark)
        smooth = cv2.GaussianBlur(lightness, (0, 0), GRAIN)
        paper = cv2.morphologyEx(smooth, cv2.MORPH_CLOSE, np.ones((reach, reach), np.uint8))
        paper = cv2.GaussianBlur(paper, (0, 0), SOFTNESS)
        np.maximum(paper, DARKEST_PAPER, out=paper)
        lightness /= paper
        ink = np.subtract(1, lightness, out=lightness)
        return np.clip(ink, 0, 1, out=ink), paper

    ink, paper = in_strips(of_strip, page.pixels, reach + round(TAILS * (GRAIN + SOFTNESS)) + 2)
    return ink, paper
