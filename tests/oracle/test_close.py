"""What pixels say for a reading, against the mixture written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from unblot.inference.kernels_close import pixel_odds

MORE, DARKENED, LESS = (np.float32(v) for v in (0.02, 0.97, 0.01))


@pytest.mark.parametrize("place", [(3, 4), (-2, 5), (9, 9)])
def test_pixels_say_what_the_mixture_says(place):
    rng = np.random.default_rng(0)
    ink, usual = (rng.random(shape, np.float32) for shape in ((12, 14), (6, 5)))
    struck, own = rng.random(ink.shape) < 0.3, rng.random(usual.shape) < 0.7
    spread = rng.uniform(0.06, 0.3, usual.shape).astype(np.float32)
    paper = rng.normal(size=(2, 64)).astype(np.float32)
    odds = np.zeros(usual.shape, np.float32)
    total = pixel_odds(ink, struck, own, usual, spread, paper, *place, MORE, DARKENED, LESS, odds)
    expected = np.zeros(usual.shape)
    for i, j in np.argwhere(own):
        y, x = place[0] + i, place[1] + j
        if 0 <= y < 12 and 0 <= x < 14:
            hidden = LESS if ink[y, x] <= usual[i, j] else DARKENED if struck[y, x] else MORE
            density = (1 - hidden) * norm.pdf(ink[y, x], usual[i, j], spread[i, j]) + hidden
            expected[i, j] = np.log(density) - paper[int(struck[y, x]), round(63 * float(ink[y, x]))]
    assert (expected != 0).sum() > 3
    np.testing.assert_allclose(odds, expected, rtol=1e-4, atol=1e-4)
    assert total == pytest.approx(expected.sum(), rel=1e-4)
