from __future__ import annotations

import numpy as np

from unblot.grid import FRAME
from unblot.learning.alike import correlate, likeness


def test_likeness_is_the_best_correlation_of_every_two():
    rng = np.random.default_rng(0)
    pictures = np.zeros((6, *FRAME), np.float32)
    for k in range(6):
        y, x = rng.integers(16, 24, 2)
        pictures[k, y : y + 20, x : x + 5] = 1
        pictures[k, y : y + 5, x : x + 4 * (k % 3 + 1)] = 1
    assert np.allclose(likeness(pictures), correlate(pictures, pictures)[0], atol=1e-6)


def test_a_picture_is_moved_to_where_it_fits():
    still, moved = (np.zeros((1, *FRAME), np.float32) for _ in range(2))
    still[0, 20:40, 20:30] = moved[0, 24:44, 18:28] = 1
    best, shift = correlate(still, moved)
    assert best[0, 0] > 0.999
    assert shift[0, 0].tolist() == [4, -2] or shift[0, 0].tolist() == [-4, 2]
