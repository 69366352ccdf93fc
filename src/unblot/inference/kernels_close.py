"""The inner loops over single pixels, compiled by numba: what each says for a reading, and what grain paper has."""

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


@numba.njit(parallel=True, cache=True, error_model="numpy")
def grain_beside(values, usual, clean, wanted, steps, grain):
    """Give each wanted pixel what a clean one differs by from the paper's usual tone, the first of some steps on.

    Steps count pixels from left to right and line after line; behind the last comes the first. Where no step leads to
    a clean pixel, there is no grain.
    """
    for k in numba.prange(len(wanted)):
        for step in steps:
            there = (wanted[k] + step) % len(clean)
            if clean[there]:
                for d in range(values.shape[1]):
                    grain[k, d] = values[there, d] / np.float32(255) - usual[there, d]
                break
