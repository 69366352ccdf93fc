"""Letters that nobody has learned: what is read in them is a part of a larger mark, some of which nobody owns.

The stem of an N is a whole l, and the lower half of a colon a full stop. Blots and strokes that touch a character are
larger or thicker than writing.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from jaxtyping import Float

from unblot.cleaning.marks import INKED, LARGE, OWNED, PALE, THICK, WIDEST, ink_parts
from unblot.cleaning.passes import Character
from unblot.cleaning.reread import DOUBT
from unblot.cleaning.stamps import Stamp, placed
from unblot.learning.classes import PRINTED

SOME, MUCH = 0.06, 0.2  # of a character's ink that hangs on it and has no owner: then it is doubtful, or is none,
SURE = 0.9  # unless it was as likely as that
SEAM = 3  # pixels: the edges of a character's ink
PART, GAP, OVERLAP, ABOVE = 0.8, 0.5, 0.1, 0.5  # heights of a part above or below its letter; of its width, above it


def without_strangers(
    ink: Float[np.ndarray, "H W"], found: list[Character], stamps: dict[int, Stamp], height: float
) -> list[Character]:
    """Leave out the characters that are pieces of unknown letters, and doubt those that may be."""
    read = []
    for each, joined, stacked in zip(found, *_surplus(ink, found, stamps, height), strict=True):
        if joined <= MUCH or each.posterior >= SURE:
            doubtful = joined + stacked > SOME
            read.append(replace(each, posterior=min(each.posterior, DOUBT)) if doubtful else each)
    return read


def _surplus(
    ink: Float[np.ndarray, "H W"], found: list[Character], stamps: dict[int, Stamp], height: float
) -> tuple[list[float], list[float]]:
    """Give the ink without an owner in the marks that each character is a part of, and in those above or below it.

    Marks that look like writing count, for the character's own ink.
    """
    owned = np.zeros(ink.shape, np.uint8)
    for each in found:
        there, inner = placed(ink.shape, each, stamps[each.c])
        owned[there] |= stamps[each.c].own[inner]
    inked = ink > INKED
    parts = ink_parts(inked, ink)
    share = parts.share(inked & (cv2.dilate(owned, np.ones((SEAM, SEAM), np.uint8)) > 0))
    known = share > OWNED
    known[0] = False
    stroke, palest = (float(np.median(v[known])) if known.any() else 0.0 for v in (parts.stroke, parts.strength))
    written = (parts.tall < LARGE * height) & (parts.width < WIDEST * height) & (parts.stroke < THICK * stroke)
    free = np.where(written, parts.area * (1 - share), 0)
    small = (np.maximum(parts.tall, parts.width) < PART * height) & (parts.strength > PALE * palest)
    loose = np.nonzero(written & ~known & small)[0]
    left, top, right, bottom = parts.boxes[loose].T
    joined, stacked = [], []
    for each in found:
        stamp, (x0, y0, x1, y1) = stamps[each.c], each.box
        there, inner = placed(ink.shape, each, stamp)
        numbers = np.unique(parts.label[there][stamp.own[inner]])
        over = np.minimum(x1, right) - np.maximum(x0, left) >= ABOVE * (right - left)
        apart = np.maximum(top - y1, y0 - bottom) / height
        near = loose[over & (apart >= -OVERLAP) & (apart < GAP)]
        printed = max(1, int((stamp.own & (stamp.picture > PRINTED)).sum()))
        joined.append(float(free[numbers[numbers > 0]].sum()) / printed)
        stacked.append(float(free[near].sum()) / printed)
    return joined, stacked
