from __future__ import annotations

import numpy as np
import pytest

from unblot.features import STRIDE
from unblot.ink import ink
from unblot.learning import cutouts
from unblot.patches import PATTERN
from unblot.synth.make import Recipe, make


@pytest.fixture(scope="module")
def page():
    return make(Recipe(characters="abesy", width=1400, height=1000, seed=5))


def middles(page) -> tuple[np.ndarray, list[str]]:
    boxes = np.array([mark.box for mark in page.truth])
    return (boxes[:, [1, 0]] + boxes[:, [3, 2]]) / 2, [mark.name for mark in page.truth]


def test_ink_gathers_where_characters_are(page):
    places = cutouts.gathering_places(ink(page.dirty), STRIDE) * STRIDE
    centres, _ = middles(page)
    near = [np.abs(places - centre).max(1).min() < 25 for centre in centres]
    assert np.mean(near) > 0.9


def test_the_first_representatives_show_every_type_once(page):
    page_ink = ink(page.dirty)
    places = cutouts.gathering_places(page_ink, STRIDE)
    alike = cutouts.likeness(cutouts.surroundings(page_ink, places, PATTERN, STRIDE))
    np.testing.assert_allclose(np.diag(alike), 1, atol=1e-3)
    centres, names = middles(page)
    shown = []
    for k in cutouts.representatives(alike, 8, 0.0):
        distance = np.hypot(*(centres - places[k] * STRIDE).T)
        shown.append(names[int(distance.argmin())] if distance.min() < 20 else "-")
    assert set("abesy") <= set(shown)
    assert len(set(shown[:4]) - {"-"}) == len([name for name in shown[:4] if name != "-"])


def test_a_place_that_nothing_is_like_gains_too_little():
    alike = np.eye(6)
    alike[:5, :5] = 0.8 + 0.2 * np.eye(5)
    alike[0, :5] = [1, 0.9, 0.9, 0.9, 0.9]
    assert cutouts.representatives(alike, 6, 1.5) == [0]
    assert cutouts.representatives(alike, 6, 0.5) == [0, 5]
