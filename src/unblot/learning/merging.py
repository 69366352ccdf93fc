"""Classes that mean the same: each explains the other's examples as well as their own class does."""

from __future__ import annotations

import cv2
import numpy as np
from jaxtyping import Float
from torch import Tensor

from unblot.grid import Grid
from unblot.learning.seeds import MOST_PARTS, Seed
from unblot.learning.windows import Shape, evidence
from unblot.model.theta import Theta

LIKELY = 0.75  # correlation below which two patterns are not compared further
PLAY = 12  # cells by which two frames may be moved against each other
LOOKED_AT = 40  # examples
EXPLAINED = 0.93  # of the evidence that a class's own pattern gives its examples


def merge(
    grid: Grid,
    log_H: Float[Tensor, "G1 G2"],
    theta: Theta,
    seeds: list[Seed],
    shapes: list[Shape],
    typical: Float[np.ndarray, " C"],
) -> list[Seed]:
    """Join the examples of classes that mean the same, the largest class first."""
    pictures = [_picture(theta.W[c, ..., 0].cpu().numpy(), shape) for c, shape in enumerate(shapes)]

    def explained(by: int, of: int, move: np.ndarray) -> float:
        """Give the share of a class's typical evidence that another's pattern has at its examples."""
        around = [np.array((i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        places = np.concatenate([grid.inside(seeds[of].corners[:LOOKED_AT] + move + step) for step in around])
        found = evidence(grid, log_H, theta, np.full(len(places), by), places).reshape(len(around), -1)
        return float(np.median(found.max(0)) / max(typical[of], 1e-6))

    joined: list[tuple[int, list[np.ndarray]]] = []
    for c in sorted(range(len(seeds)), key=lambda c: -len(seeds[c].corners)):
        for first, examples in joined:
            fit = cv2.matchTemplate(np.pad(pictures[first], PLAY), pictures[c], cv2.TM_CCOEFF_NORMED)
            if fit.max() < LIKELY:
                continue
            move = np.array(np.unravel_index(int(fit.argmax()), fit.shape)) - PLAY  # of c's frame in that of the first
            if explained(c, first, move) > EXPLAINED and explained(first, c, -move) > EXPLAINED:
                examples.append(grid.inside(seeds[c].corners - move))
                break
        else:
            joined.append((c, [seeds[c].corners]))
    return [
        Seed(np.concatenate(examples)[:MOST_PARTS], seeds[c].part) for c, examples in sorted(joined, key=lambda g: g[0])
    ]


def _picture(W: Float[np.ndarray, "P1 P2"], shape: Shape) -> Float[np.ndarray, "P1 P2"]:
    near = cv2.dilate(shape.own.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    return np.where(near, W, 0).astype(np.float32)
