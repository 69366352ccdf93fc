"""Work done side by side, its results in order: compiled loops let other threads run."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # of mallopt, as the C library counts them
KEPT, FETCHED = 2**31 - 1, 2**26  # bytes
MOST = 8  # threads: with sixteen on sixteen processors a page took a sixth longer, since they wait for each other
# where the libraries' own loops look how many to start
POOLS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM")
BATCHES = 16  # of small pieces of work for each thread: it takes longer to hand one over than to do it
CYCLES_AFTER = 100_000  # new objects: they are looked through for unused ones that hold each other

T = TypeVar("T")
R = TypeVar("R")


def processors() -> int:
    """Count the processors that the process may use, as far as more of them help."""
    return min(MOST, len(os.sched_getaffinity(0)))


def limit_pools() -> None:
    """Let the libraries' own loops, which are imported after this, take no more processors than help."""
    for name in POOLS:
        os.environ.setdefault(name, str(processors()))


def side_by_side(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Do some work for every item, as many at a time as there are processors."""
    every = list(items)
    size = max(1, len(every) // (BATCHES * processors()))
    batches = [every[first : first + size] for first in range(0, len(every), size)]
    with ThreadPoolExecutor(processors()) as pool:
        return list(itertools.chain.from_iterable(pool.map(lambda batch: list(map(work, batch)), batches)))


def keep_memory() -> None:
    """Let the process keep what it frees for its next arrays: fetching it anew took a fifth of a page's time.

    Only GNU's C library is asked; others are left as they are. What is freed late is looked for less often, too.
    """
    gc.set_threshold(CYCLES_AFTER)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, KEPT)
        mallopt(TOP_PAD, FETCHED)
        mallopt(MMAP_MAX, 0)
