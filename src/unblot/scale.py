"""The page's own scale: how high its characters are, and its ink at the scale where all pages are alike."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial import cKDTree

from unblot.connected import connected
from unblot.ink import REACH, ink_and_paper
from unblot.page import Page

HEIGHT = 48.0  # pixels that characters are high on a scaled page
INKED = 0.5
SMALLEST = 8  # pixels: lower parts are grain
LARGEST = 1 / 8  # of the page: higher parts are no characters
SPREAD = 0.12  # of a height's logarithm: how far the heights of one page's letters lie apart
SIZES = (cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT, cv2.CC_STAT_AREA)
AS_MANY = 0.75  # of the ink that most parts' height accounts for: a lower one that does is the letters' height,
BETWEEN, ENOUGH_PARTS = 0.6, 50  # where less of its own lies between the two, and where there are so many parts
WIDE = 2.25  # of a character's height: what is wider does not fit into a frame
SAME_SIZE, MANY, MOST = 0.03, 8, 0.75  # of a logarithm; letters of one size, and of all that wide, that are some
GREATEST = 4.0  # more enlarging shows nothing more
ENOUGH = 0.05  # a logarithm of the factor below this is not worth resampling
STRONG, FAINTEST = 0.75, 0.2  # ink that most pages have, and that a page must have to be strengthened to it
STROKE = 0.55  # of a character's height: a stroke that thick still is ink


@dataclass(frozen=True)
class PageInk:
    """A page's ink as it is read, and as it is seen; how light the paper around it is; how high its characters are.

    Where all ink is pale, what is read is stronger than what is seen. The height is None where nothing looks like
    characters.
    """

    ink: Float[np.ndarray, "H W"]
    seen: Float[np.ndarray, "H W"]
    paper: Float[np.ndarray, "H W"]
    height: float | None


def page_ink(page: Page) -> PageInk:
    """Give the page's ink; where characters are large, wider strokes count as ink, where all is pale, pale ink."""
    seen, paper = ink_and_paper(page)
    found = strengthened(seen)
    height = character_height(found)
    if height is not None and reach_for(height) != REACH:
        seen, paper = ink_and_paper(page, reach_for(height))
        found = strengthened(seen)
        height = character_height(found)
    return PageInk(found, seen, paper, height)


def ink_as_seen(page: Page) -> PageInk:
    """Give the page's ink as it is seen, whatever its scale and its strength."""
    seen, paper = ink_and_paper(page)
    return PageInk(seen, seen, paper, character_height(seen))


def strengthened(found: Float[np.ndarray, "H W"]) -> Float[np.ndarray, "H W"]:
    """Bring pale ink to the strength of other pages'."""
    level, _ = cv2.threshold(cv2.convertScaleAbs(found, alpha=255), 0, 255, cv2.THRESH_OTSU)
    inked = found[found > level / 255]
    usual = float(np.median(inked)) if len(inked) else 1.0
    return found if usual >= STRONG else np.minimum(found * (STRONG / max(usual, FAINTEST)), 1).astype(np.float32)


def reach_for(height: float) -> int:
    """Give the width of what counts as ink among characters of a height."""
    return max(REACH, 2 * round(STROKE * height / 2) + 1)


def character_height(found: Float[np.ndarray, "H W"]) -> float | None:
    """Give the height most connected parts of the ink have, None where there are no such parts."""
    sizes = connected(found > INKED)[1][1:, SIZES].astype(float)
    width, height, area = sizes.T
    compact = (width < 4 * height) & (height < 6 * width) & (area > 0.1 * width * height)
    likely = (height >= SMALLEST) & (height < LARGEST * found.shape[0]) & compact
    if not likely.any():
        return None
    logs = np.log(height[likely])
    grid = np.linspace(logs.min(), logs.max(), 200)
    density = np.exp(-0.5 * ((grid[:, None] - logs) / SPREAD) ** 2) @ height[likely]
    mode = np.exp(grid[_lower_peak(density) if len(logs) >= ENOUGH_PARTS else density.argmax()])
    near = np.abs(logs - np.log(mode)) < 0.5
    usual = float(np.median(height[likely][near]))
    return max(usual, _widest(sizes[likely], usual) / WIDE)


def _lower_peak(density: Float[np.ndarray, " G"]) -> int:
    """Give the first peak that is nearly as high as the highest, if few lie between the two."""
    peak = np.r_[True, density[1:] >= density[:-1]] & np.r_[density[:-1] >= density[1:], True]
    first, highest = int(np.nonzero(peak & (density >= AS_MANY * density.max()))[0][0]), int(density.argmax())
    return first if density[first : highest + 1].min() <= BETWEEN * density[first] else highest


def _widest(sizes: Float[np.ndarray, "M 3"], usual: float) -> float:
    """Give the width of the widest letters, where what is as wide repeats."""
    wide = sizes[(sizes[:, 0] > WIDE * usual) & (sizes[:, 1] > usual / 2)]
    repeat = one_of_many(wide)
    return float(wide[repeat, 0].max()) if repeat.sum() > MOST * len(wide) else 0.0


def one_of_many(sizes: Float[np.ndarray, "M 3"]) -> Bool[np.ndarray, " M"]:
    """Tell the parts of a width, a height and an area that many have: letters do, joined letters and words differ."""
    if not len(sizes):
        return np.zeros(0, bool)
    logs = np.log(sizes) * (1, 1, 0.5)  # an area counts as a length
    return np.asarray(cKDTree(logs).query_ball_point(logs, SAME_SIZE, return_length=True) >= MANY)


def scale_factor(height: float) -> float:
    """Give the factor that makes characters of a height as high as all others; 1 where that is near enough."""
    factor = min(HEIGHT / height, GREATEST)
    return 1.0 if abs(np.log(factor)) < ENOUGH else factor


def scaled(found: Float[np.ndarray, "H W"], factor: float) -> Float[np.ndarray, "H1 W1"]:
    """Resample the ink."""
    if factor == 1:
        return found
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(found, None, fx=factor, fy=factor, interpolation=how).clip(0, 1), np.float32)
