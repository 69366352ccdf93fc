"""The inner loop of looking closely, compiled by numba: what each pixel says for a reading, against paper."""

from __future__ import annotations

import math

import numba
import numpy as np

from unblot.inference.kernels_cpu import FAST

NORMAL = np.float32(1 / math.sqrt(2 * math.pi))


@numba.njit(cache=True, nogil=True, **FAST)
def pixel_odds(ink, struck, own, usual, spread, paper, top, left, more, darkened, less, odds):
    """Give log [p(ink | class) / p(ink | paper)] of a class's own pixels, laid at a place, and their sum.

    p(ink | class) = (1 - e) N(ink; usual, spread^2) + e, e being the share of pixels that dirt darkens, or where ink is
    worn off; `paper` is the log density on paper for each level of ink, beside strokes and on them.
    """
    levels = np.float32(paper.shape[1] - 1)
    total = 0.0
    for i in range(max(0, -top), min(own.shape[0], ink.shape[0] - top)):
        for j in range(max(0, -left), min(own.shape[1], ink.shape[1] - left)):
            if own[i, j]:
                y, on_stroke = ink[top + i, left + j], struck[top + i, left + j]
                off = (y - usual[i, j]) / spread[i, j]
                hidden = less if off <= 0 else darkened if on_stroke else more
                density = (1 - hidden) * NORMAL / spread[i, j] * math.exp(np.float32(-0.5) * off * off) + hidden
                odds[i, j] = math.log(density) - paper[int(on_stroke), int(np.rint(levels * y))]
                total += odds[i, j]
    return total
