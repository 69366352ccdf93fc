"""Where on a page each class may stand: maxima of the correlation of its picture with what strokes leave visible."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.detection.rows import Rows
from unblot.grid import FRAME
from unblot.inference.sheet import Sheet
from unblot.learning.glyphs import Glyph

COARSE = 2  # cells
LEAST_CONTRAST = 0.01  # variance of ink below which there is nothing to correlate with
PLAY = 4  # cells above or below its line that a character may stand
CHUNK = 64  # columns that are looked at together


@dataclass(frozen=True)
class Search:
    """How little of a character may be visible, for its place to be looked at.

    The least correlation with what is visible; the share of a picture and of its contrast that is; and the evidence at
    a glance, before a place was moved and after.
    """

    fit: float = 0.4
    seen: float = 0.3
    told: float = 0.25
    first_hope: float = -600.0
    hopeless: float = -200.0


def find_places(
    sheet: Sheet, glyphs: list[Glyph], rows: Rows | None, search: Search
) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, "S 2"]]:
    """Give classes and the corners of frames, on lines where the page has some, anywhere otherwise."""
    maps = _coarse_maps(sheet)
    kernels = _kernels(glyphs)
    found: list[tuple[Int[np.ndarray, " s"], Int[np.ndarray, "s 2"]]] = []
    for window, of_row in _windows(sheet, len(glyphs), rows):
        fit = np.full((len(glyphs), len(of_row), window[1] - window[0]), -1, np.float32)
        top = min(of_row)
        for row, classes in of_row.items():
            fit[classes, row - top] = _correlation(maps, kernels, row, window, np.array(classes), search).T
        highest = np.stack([cv2.dilate(one, np.ones((3, 3), np.uint8)) for one in fit])
        c, y, x = np.nonzero((fit >= highest) & (fit > search.fit))
        found.append((c, COARSE * np.stack([y + top, x + window[0]], 1)))
    if not found:
        return np.zeros(0, int), np.zeros((0, 2), int)
    c, corner = (np.concatenate(each) for each in zip(*found, strict=True))
    states = np.unique(np.concatenate([c[:, None], corner], 1), axis=0)
    return states[:, 0], np.ascontiguousarray(states[:, 1:])


def _windows(sheet: Sheet, C: int, rows: Rows | None) -> list[tuple[tuple[int, int], dict[int, list[int]]]]:
    """Give columns, and for each row there the classes that are looked for, both coarse: the page part by part."""
    high, wide = ((sheet.shape[axis] - FRAME[axis]) // COARSE for axis in (0, 1))
    if rows is None:
        return [((0, wide), {row: list(range(C)) for row in range(high)})]
    parts = []
    for line in rows.rows:
        first, last = max(0, line.first // COARSE), min(wide, line.last // COARSE)
        for start in range(first, last, CHUNK // COARSE):
            end = min(start + CHUNK // COARSE, last)
            ends = line.base(COARSE * np.array([start, end]))
            of_row: defaultdict[int, list[int]] = defaultdict(list)
            for c, above in enumerate(rows.above):
                low, top = np.rint((np.array([ends.min() - PLAY, ends.max() + PLAY]) - above) / COARSE).astype(int)
                for row in range(max(0, low), min(high, top + 1)):
                    of_row[row].append(c)
            if of_row:
                parts.append(((start, end), {row: of_row[row] for row in range(min(of_row), max(of_row) + 1)}))
    return parts


@dataclass(frozen=True)
class _Maps:
    """What is visible, its ink and its squared ink, on coarse cells."""

    seen: Float[np.ndarray, "H W"]
    ink: Float[np.ndarray, "H W"]
    square: Float[np.ndarray, "H W"]


def _coarse_maps(sheet: Sheet) -> _Maps:
    seen = (sheet.dirt < 0.5).astype(np.float32)
    size = (sheet.shape[1] // COARSE, sheet.shape[0] // COARSE)
    even = tuple(COARSE * length for length in size[::-1])
    visible, ink, square = (
        cv2.resize(v[: even[0], : even[1]], size, interpolation=cv2.INTER_AREA)
        for v in (seen, seen * sheet.cells, seen * sheet.cells**2)
    )
    return _Maps(visible, ink, square)


def _kernels(glyphs: list[Glyph]) -> Float[np.ndarray, "3 K C"]:
    """Give each class's mask, its masked picture, and that squared, on coarse cells."""
    rows, columns = (length // COARSE for length in FRAME)

    def coarser(values: np.ndarray) -> np.ndarray:
        return np.asarray(cv2.resize(values.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA).ravel())

    powers = [[coarser(g.covered * g.W**power) for g in glyphs] for power in range(3)]
    return np.array(powers, np.float32).transpose(0, 2, 1)


def _correlation(
    maps: _Maps,
    kernels: Float[np.ndarray, "3 K C"],
    row: int,
    window: tuple[int, int],
    classes: Int[np.ndarray, " c"],
    search: Search,
) -> Float[np.ndarray, "w c"]:
    """Correlate pictures with what is visible in frames of one row."""
    high, wide = (length // COARSE for length in FRAME)

    def frames(values: np.ndarray) -> np.ndarray:
        strip = values[row : row + high, window[0] : window[1] + wide - 1]
        views = np.lib.stride_tricks.sliding_window_view(strip, (high, wide))[0]
        return np.asarray(views.reshape(len(views), -1))

    if not len(classes):
        return np.full((window[1] - window[0], 0), -1, np.float32)
    one, picture, picture2 = kernels[:, :, classes]
    seen, ink, square = (frames(v) for v in (maps.seen, maps.ink, maps.square))
    n = np.maximum(seen @ one, 1e-6)
    p, p2, y, y2, yp = seen @ picture, seen @ picture2, ink @ one, square @ one, ink @ picture
    contrast, spread = p2 - p * p / n, np.maximum(y2 - y * y / n, LEAST_CONTRAST * n)
    total = one.sum(0)
    full = picture2.sum(0) - picture.sum(0) ** 2 / total
    told: Bool[np.ndarray, "w c"] = (n > search.seen * total) & (contrast > search.told * full)
    fit = (yp - p * y / n) / np.sqrt(np.maximum(contrast, 1e-6) * spread)
    return np.asarray(np.where(told, fit, -1), np.float32)
