"""Which pieces of a page learning starts from (Sec. 4): places where ink gathers, so that every other is like one.

The paper cuts its starts out at random. Of a few random places, several show the same character and none shows
another; and EM hardly ever moves a class from one character to another.
"""

from __future__ import annotations

import cv2
import numpy as np
from jaxtyping import Float, Int

SPREADS = (18.0, 12.0)  # pixels: ink gathers at the scale of a character, and of a small one
LEAST_INK = 0.05
BLUR = 4.0  # pixels: strokes a little apart still look alike
FOCUS = 7.0  # cells of the feature map: the middle of a cut-out counts, its neighbours do not
SHIFTS = 4  # cells by which two cut-outs may be moved against each other
MOST = 800  # places compared with each other


def gathering_places(ink: Float[np.ndarray, "H W"], stride: int) -> Int[np.ndarray, "M 2"]:
    """Give the rows and columns of the feature map where the density of ink has its maxima."""
    found = []
    for spread in SPREADS:
        density = cv2.GaussianBlur(ink, (0, 0), spread)[::stride, ::stride]
        near = 2 * round(0.4 * spread / stride * 2) + 1
        highest = cv2.dilate(density, np.ones((near, near), np.uint8))
        found.append(np.argwhere((density >= highest) & (density > LEAST_INK)))
    return np.unique(np.concatenate(found), axis=0)


def surroundings(
    ink: Float[np.ndarray, "H W"], places: Int[np.ndarray, "M 2"], P: tuple[int, int], stride: int
) -> Float[np.ndarray, "M S1 S2"]:
    """Cut out the ink around each place: a pattern and the room to move it."""
    margin = (P[0] // 2 + SHIFTS, P[1] // 2 + SHIFTS)
    cells = np.pad(cv2.GaussianBlur(ink, (0, 0), BLUR)[::stride, ::stride], [(m, m) for m in margin])
    pieces = [cells[r : r + P[0] + 2 * SHIFTS, c : c + P[1] + 2 * SHIFTS] for r, c in places]
    return np.stack(pieces) if pieces else np.empty((0, P[0] + 2 * SHIFTS, P[1] + 2 * SHIFTS), np.float32)


def likeness(around: Float[np.ndarray, "M S1 S2"]) -> Float[np.ndarray, "M M"]:
    """Correlate every two surroundings, the second moved to where it fits best; 0 is nothing in common."""
    P = (around.shape[1] - 2 * SHIFTS, around.shape[2] - 2 * SHIFTS)
    rows, columns = (np.arange(p) - (p - 1) / 2 for p in P)
    focus = np.exp(-(rows[:, None] ** 2 + columns**2) / (2 * FOCUS**2)).astype(np.float32)
    focus /= focus.sum()

    def standardised(pieces: Float[np.ndarray, "M P1 P2"]) -> Float[np.ndarray, "M P"]:
        centred = pieces - (focus * pieces).sum((1, 2), keepdims=True)
        norm = np.sqrt((focus * centred**2).sum((1, 2), keepdims=True))
        return np.asarray((centred / np.maximum(norm, 1e-3)).reshape(len(pieces), -1))

    still = standardised(around[:, SHIFTS:-SHIFTS, SHIFTS:-SHIFTS]) * focus.reshape(-1)
    best = np.zeros((len(around), len(around)), np.float32)
    for down in range(2 * SHIFTS + 1):
        for right in range(2 * SHIFTS + 1):
            moved = standardised(around[:, down : down + P[0], right : right + P[1]])
            np.maximum(best, still @ moved.T, out=best)
    return best


def representatives(alike: Float[np.ndarray, "M M"], most: int, least_gain: float) -> list[int]:
    """Choose places one by one, each the one that raises everybody's likeness to the nearest chosen one the most.

    Ends after `most`, or when the next would raise the sum by less than `least_gain`.

    >>> representatives(np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1.0]]), 3, 0.2)
    [0, 2]
    """
    chosen: list[int] = []
    nearest = np.zeros(len(alike), alike.dtype)
    while len(chosen) < min(most, len(alike)):
        gains = np.maximum(alike, nearest).sum(1) - nearest.sum()
        best = int(gains.argmax())
        if gains[best] < least_gain:
            break
        chosen.append(best)
        nearest = np.maximum(nearest, alike[best])
    return chosen
