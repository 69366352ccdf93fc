"""Connected components, boxes and areas in OpenCV's order: it finds them, but would measure every pixel of paper."""

from __future__ import annotations

import cv2
import numba
import numpy as np
from jaxtyping import Bool, Int


def connected(mask: Bool[np.ndarray, "H W"]) -> tuple[Int[np.ndarray, "H W"], Int[np.ndarray, "K 5"]]:
    """Find the connected parts of a mask, 0 being all the rest; give left, top, width, height, area of each.

    >>> connected(np.array([[True, True, False], [False, False, False], [True, False, False]]))[1].tolist()
    [[0, 0, 3, 3, 6], [0, 0, 2, 1, 2], [0, 2, 1, 1, 1]]
    """
    count, label = cv2.connectedComponents(mask.view(np.uint8))
    stats = np.zeros((count, 5), np.int32)
    stats[:, cv2.CC_STAT_LEFT], stats[:, cv2.CC_STAT_TOP] = mask.shape[1], mask.shape[0]
    _measure(label, stats)
    stats[:, 2:4] -= stats[:, :2]
    stats[0] = 0, 0, mask.shape[1], mask.shape[0], mask.size - stats[1:, cv2.CC_STAT_AREA].sum()
    return label, stats


@numba.njit(cache=True, nogil=True)
def _measure(label, stats):
    """Stretch the corners left, top, right, bottom of each part over its pixels, and count them."""
    for i in range(label.shape[0]):
        for j in range(label.shape[1]):
            k = label[i, j]
            if k:
                own = stats[k]
                own[0] = min(own[0], j)
                own[1] = min(own[1], i)
                own[2] = max(own[2], j + 1)
                own[3] = max(own[3], i + 1)
                own[4] += 1
