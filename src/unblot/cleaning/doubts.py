"""Readings that may be wrong though their ink is there: their own ink stays, and some are no characters at all.

Pieces of unknown letters: the stem of an N is a whole l, and the lower half of a colon a full stop. Classes that mix
letters.
"""

from __future__ import annotations

import cv2
import numpy as np

from unblot.cleaning.closeup import Closeup
from unblot.cleaning.marks import OWNED, PALE, THICK
from unblot.cleaning.passes import Character
from unblot.cleaning.reread import DOUBT, SURE
from unblot.cleaning.stamps import placed
from unblot.learning.parts import WIDER, find_components, likely
from unblot.learning.seeds import LEVELS
from unblot.scale import HEIGHT, PageInk, scale_factor, scaled

SOME, MUCH = 0.06, 0.2  # of a character's ink that hangs on it and has no owner: then it is doubtful, or is none
SEAM = 3  # pixels: the edges of a character's ink
PART, GAP, OVERLAP, ABOVE = 0.8, 0.5, 0.1, 0.5  # heights of a part above or below its letter; of its width, above it
LETTER = 0.4  # of a character's height: smaller marks tell nothing
HELD, READ = 0.5, 0.6  # of a mark that characters hold; of all such marks, where a page is text
MIXED, MORE = 1.75, 0.05  # times as far from agreeing as most classes' instances are, and by how much at least


def likely_at_most(view: Closeup, found: list[Character], height: float) -> list[float]:
    """Give the highest probability that each character may have: 0 for pieces of unknown letters, doubt if need be."""

    def most(each: Character, joined: float, stacked: float) -> float:
        if joined > MUCH and each.posterior < SURE:
            return 0.0
        return DOUBT if joined + stacked > SOME else 1.0

    return list(map(most, found, *_surplus(view, found, height)))


def is_text(inked: PageInk, found: list[Character]) -> bool:
    """Tell whether characters hold most of what has their size: on text nearly all, on a photograph a few spots."""
    if inked.height is None:
        return False
    factor = scale_factor(inked.height)
    marks = find_components(scaled(inked.ink, factor), LEVELS[0])
    there = np.zeros(marks.label.shape, bool)
    for each in found:
        x0, y0, x1, y1 = (max(0, round(factor * side)) for side in each.box)
        there[y0:y1, x0:x1] = True
    held = np.bincount(marks.label[there], minlength=len(marks.stats)) / marks.stats[:, cv2.CC_STAT_AREA]
    letters = likely(marks.stats, WIDER)
    sizes = marks.stats[letters][:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]].max(1)
    letters = letters[sizes > LETTER * HEIGHT]
    area = marks.stats[letters, cv2.CC_STAT_AREA]
    return bool(area[held[letters] > HELD].sum() >= READ * area.sum())


def mixed(alike: dict[int, float]) -> set[int]:
    """Tell the classes whose instances are much less alike than those of others: several letters."""
    usual = 1 - float(np.median(list(alike.values()))) if alike else 0.0
    most = max(MIXED * usual, usual + MORE)
    return {c for c, value in alike.items() if 1 - value > most}


def _surplus(view: Closeup, found: list[Character], height: float) -> tuple[list[float], list[float]]:
    """Give the ink without an owner in the marks that each character is a part of, and in those above or below it.

    Marks that look like writing count, for the character's own ink: they fit, and blots are thicker.
    """
    parts, stamps, inked = view.parts, view.stamps, view.parts.label > 0
    owned = np.zeros(inked.shape, np.uint8)
    for each in found:
        there, inner = placed(inked.shape, each, stamps[each.c])
        owned[there] |= stamps[each.c].own[inner]
    share = parts.share(inked & (cv2.dilate(owned, np.ones((SEAM, SEAM), np.uint8)) > 0))
    known = share > OWNED
    known[0] = False
    stroke, palest = (float(np.median(v[known])) if known.any() else 0.0 for v in (parts.stroke, parts.strength))
    written = view.fits & (parts.stroke < THICK * stroke)
    free = np.where(written, parts.area * (1 - share), 0)
    small = (np.maximum(parts.tall, parts.width) < PART * height) & (parts.strength > PALE * palest)
    loose = np.nonzero(written & ~known & small)[0]
    left, top, right, bottom = parts.boxes[loose].T
    joined, stacked = [], []
    for each in found:
        stamp, (x0, y0, x1, y1) = stamps[each.c], each.box
        there, inner = placed(inked.shape, each, stamp)
        numbers = np.unique(parts.label[there][stamp.own[inner]])
        over = np.minimum(x1, right) - np.maximum(x0, left) >= ABOVE * (right - left)
        apart = np.maximum(top - y1, y0 - bottom) / height
        near = loose[over & (apart >= -OVERLAP) & (apart < GAP)]
        printed = max(1, int(stamp.printed.sum()))
        joined.append(float(free[numbers[numbers > 0]].sum()) / printed)
        stacked.append(float(free[near].sum()) / printed)
    return joined, stacked
