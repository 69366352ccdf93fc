"""Pen strokes that look like straight characters, piece by piece: a stroke goes on where a character ends."""

from __future__ import annotations

import cv2
import numpy as np
from jaxtyping import Bool, Float

from unblot.detection.candidates import Candidates

STRAIGHT = 0.66  # width over length: rounder characters have no ends
LINE = 0.3  # the same of a line
SINGLE = 1.2  # ink of one stroke over its length and thickness: pieces of strokes have 0.8, wide letters 1.4 and more
GAP, CLOSE, FAR = (2.5, 1), (5.0, 2), (11.0, 2)  # cells behind an end, and around that place, since strokes bend
INKED = 0.4
GOES_ON = 0.5  # share of the ends of all instances


def stroke_classes(
    cells: Float[np.ndarray, "G1 G2"], found: Candidates, own: Bool[np.ndarray, "C P1 P2"]
) -> Bool[np.ndarray, " C"]:
    """Tell the classes whose instances have ink close behind more ends than not."""
    share = _going_on(cells, found, own, STRAIGHT, (GAP, CLOSE))
    return np.asarray(np.bincount(found.c, share, len(own)) > GOES_ON * np.bincount(found.c, minlength=len(own)))


def on_a_stroke(
    cells: Float[np.ndarray, "G1 G2"], found: Candidates, own: Bool[np.ndarray, "C P1 P2"]
) -> Bool[np.ndarray, " S"]:
    """Tell the lines that go on far behind both ends."""
    return np.asarray(_going_on(cells, found, own, LINE, (GAP, CLOSE, FAR)) == 1)


def _going_on(
    cells: Float[np.ndarray, "G1 G2"],
    found: Candidates,
    own: Bool[np.ndarray, "C P1 P2"],
    straight: float,
    behind: tuple[tuple[float, int], ...],
) -> Float[np.ndarray, " S"]:
    """Give the share of its ends where ink goes on at all places behind, 0 for classes that are no single stroke."""
    inked = [cv2.dilate(cells, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)) > INKED for _, reach in behind]
    share = np.zeros(len(found.c))
    for c, ink in enumerate(own):
        mine = found.c == c
        places = np.argwhere(ink).astype(float)
        if len(places) < 3:  # a dot has no ends
            continue
        middle = places.mean(0)
        width, axes = np.linalg.eigh(np.cov((places - middle).T))
        if width[0] > straight**2 * width[1]:
            continue
        along = (places - middle) @ axes[:, 1]
        thick = 2 * cv2.distanceTransform(np.pad(ink, 1).astype(np.uint8), cv2.DIST_L2, 5).max()
        if len(places) > SINGLE * np.ptp(along) * thick:
            continue
        on = np.ones((int(mine.sum()), 2), bool)
        for near, (far, _) in zip(inked, behind, strict=True):
            ends = middle + np.array([along.min() - far, along.max() + far])[:, None] * axes[:, 1]
            at = np.rint(found.corner[mine][:, None] + ends).astype(int).clip(0, np.array(cells.shape) - 1)
            on &= near[at[..., 0], at[..., 1]]
        share[mine] = on.mean(1)
    return share
