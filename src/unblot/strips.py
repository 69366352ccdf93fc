"""A page in strips: work that looks no farther than a few rows is done on several of them at once."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np

from unblot.threads import processors, side_by_side

LEAST_ROWS = 256


def in_strips(
    work: Callable[[np.ndarray], tuple[np.ndarray, ...]], page: np.ndarray, reach: int
) -> tuple[np.ndarray, ...]:
    """Do some work that gives maps of the page's size, and needs `reach` rows above and below each of theirs.

    >>> in_strips(lambda rows: (2 * rows,), np.arange(600)[:, None], 0)[0].ravel()[-3:]
    array([1194, 1196, 1198])
    """
    count = max(1, min(processors(), len(page) // LEAST_ROWS))
    ends = np.linspace(0, len(page), count + 1).astype(int).tolist()

    maps: list[np.ndarray] = []
    one_at_a_time = Lock()

    def strip(k: int) -> None:
        first, last = ends[k], ends[k + 1]
        above = min(first, reach)
        found = work(page[first - above : last + reach])
        with one_at_a_time:
            if not maps:
                maps.extend(np.empty((len(page), *each.shape[1:]), each.dtype) for each in found)
        for whole, each in zip(maps, found, strict=True):
            whole[first:last] = each[above : above + last - first]

    side_by_side(strip, range(count))
    return tuple(maps)
