"""How like each other parts of the ink are, and which of them are like most of the others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import cv2
import numpy as np
from jaxtyping import Float, Int

from unblot.learning.cutouts import representatives
from unblot.learning.parts import Parts

MOST = 4000  # parts compared with each other
MOST_CLASSES = 150
DIFFERENT = 0.6  # correlation of parts that have nothing to do with each other
ALIKE = 0.8  # correlation of a part with its class's first
LEAST_GAIN = 1.5  # a class starts where one or two parts more are as like it as a part is to itself
LEAST_PARTS = 4  # fewer are no repetition
SHIFTS = 2  # pairs of cells by which two parts may be moved against each other


def first_ones(parts: Parts) -> tuple[Int[np.ndarray, " C"], float]:
    """Choose the parts that start a class; give also the area of all parts as far as they are like one of these."""
    if len(parts) < LEAST_PARTS:
        return np.zeros(0, int), 0.0
    some = evenly(len(parts), MOST)
    alike = np.clip((likeness(parts.alone[some]) - DIFFERENT) / (1 - DIFFERENT), 0, 1) ** 2
    chosen = representatives(alike, MOST_CLASSES, LEAST_GAIN)
    np.fill_diagonal(alike, 0)
    covered = np.sqrt(alike[chosen].max(0, initial=0)) @ parts.area[some] * len(parts) / len(some)
    return np.asarray(some[chosen]), float(covered)


def evenly(count: int, most: int) -> Int[np.ndarray, " m"]:
    """Choose not more than some numbers below a count, evenly.

    >>> evenly(7, 3)
    array([0, 3, 6])
    """
    return np.unique(np.linspace(0, count - 1, most).astype(int)) if count else np.zeros(0, int)


def repeating_area(parts: Parts, count: int) -> float:
    """Give the area of `count` parts as far as they are like each other, some of them being looked at."""
    return first_ones(parts)[1] * count / max(1, len(parts))


def likeness(pictures: Float[np.ndarray, "N P1 P2"]) -> Float[np.ndarray, "N N"]:
    """Correlate every two of some pictures, one moved to where it fits best: the other moved back is the same."""
    best = np.full((len(pictures), len(pictures)), -1, np.float32)
    small = _small(pictures)
    for _, fit in itertools.islice(_fits(small, small), (2 * SHIFTS + 1) ** 2 // 2 + 1):
        np.maximum(best, fit, out=best)
    return np.maximum(best, best.T)


def correlate(
    still: Float[np.ndarray, "C P1 P2"], moved: Float[np.ndarray, "N P1 P2"]
) -> tuple[Float[np.ndarray, "C N"], Int[np.ndarray, "C N 2"]]:
    """Correlate every two pictures, the second moved to where it fits best; give by how many cells it was."""
    best = np.full((len(still), len(moved)), -1, np.float32)
    shift = np.zeros((len(still), len(moved), 2), np.int64)
    for by, fit in _fits(_small(still), _small(moved)):
        shift[fit > best] = by
        np.maximum(best, fit, out=best)
    return best, shift


def _small(pictures: Float[np.ndarray, "N P1 P2"]) -> Float[np.ndarray, "N p1 p2"]:
    """Give pictures at half their size, each of length 1."""
    small = np.stack([cv2.resize(p, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) for p in pictures])
    return np.asarray(small / np.maximum(np.linalg.norm(small, axis=(1, 2), keepdims=True), 1e-6))


def _fits(
    still: Float[np.ndarray, "C p1 p2"], moved: Float[np.ndarray, "N p1 p2"]
) -> Iterator[tuple[tuple[int, int], Float[np.ndarray, "C N"]]]:
    """Give the products of every two pictures for every shift of the second, in cells; first those up, then down."""
    (_, rows, columns), flat = moved.shape, still.reshape(len(still), -1)
    wide = np.pad(moved, ((0, 0), (SHIFTS, SHIFTS), (SHIFTS, SHIFTS)))
    for down, right in itertools.product(range(2 * SHIFTS + 1), repeat=2):
        there = wide[:, down : down + rows, right : right + columns].reshape(len(moved), -1)
        yield (2 * (down - SHIFTS), 2 * (right - SHIFTS)), flat @ there.T
