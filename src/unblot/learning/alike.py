"""How like each other parts of the ink are, and which of them are like most of the others."""

from __future__ import annotations

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


def first_ones(parts: Parts, most: int = MOST) -> tuple[Int[np.ndarray, " C"], float]:
    """Choose the parts that start a class; give also the area of all parts as far as they are like one of these."""
    if len(parts) < LEAST_PARTS:
        return np.zeros(0, int), 0.0
    some = np.unique(np.linspace(0, len(parts) - 1, most).astype(int))
    alike = np.clip((correlate(parts.alone[some], parts.alone[some])[0] - DIFFERENT) / (1 - DIFFERENT), 0, 1) ** 2
    chosen = representatives(alike, MOST_CLASSES, LEAST_GAIN)
    np.fill_diagonal(alike, 0)
    covered = np.sqrt(alike[chosen].max(0, initial=0)) @ parts.area[some] * len(parts) / len(some)
    return np.asarray(some[chosen]), float(covered)


def correlate(
    still: Float[np.ndarray, "C P1 P2"], moved: Float[np.ndarray, "N P1 P2"]
) -> tuple[Float[np.ndarray, "C N"], Int[np.ndarray, "C N 2"]]:
    """Correlate every two pictures, the second moved to where it fits best; give by how many cells it was."""
    a, b = (
        np.stack([cv2.resize(p, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) for p in x]) for x in (still, moved)
    )
    (_, rows, columns), flat = b.shape, a.reshape(len(a), -1)
    flat = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-6)
    norm = np.maximum(np.linalg.norm(b.reshape(len(b), -1), axis=1), 1e-6)
    wide = np.pad(b / norm[:, None, None], ((0, 0), (SHIFTS, SHIFTS), (SHIFTS, SHIFTS)))
    best = np.full((len(a), len(b)), -1, np.float32)
    which = np.zeros((len(a), len(b)), np.uint8)
    shifts = [(down, right) for down in range(2 * SHIFTS + 1) for right in range(2 * SHIFTS + 1)]
    for number, (down, right) in enumerate(shifts):
        fit = flat @ wide[:, down : down + rows, right : right + columns].reshape(len(b), -1).T
        which[fit > best] = number
        np.maximum(best, fit, out=best)
    return best, 2 * (np.array(shifts) - SHIFTS)[which]
