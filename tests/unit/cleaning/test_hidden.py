from __future__ import annotations

import itertools
from dataclasses import replace

import cv2
import numpy as np
import pytest
import torch

from unblot.cleaning.hidden import find_hidden
from unblot.cleaning.passes import Character
from unblot.cleaning.whole import find_whole, learn_whole
from unblot.cleaning.worn import measure
from unblot.grid import make_grid
from unblot.ink import ink
from unblot.model.file import Model
from unblot.page import Page
from unblot.progress import silent
from unblot.scale import HEIGHT, page_ink
from unblot.synth.make import Recipe, Synthetic, make

STROKE = 7  # pixels


@pytest.fixture(scope="module")
def made() -> Synthetic:
    return make(Recipe("abesy", width=1200, height=700, size=60, dirt=0, seed=3))


@pytest.fixture(scope="module")
def model(made: Synthetic) -> Model:
    return learn_whole([page_ink(made.dirty)], None, 0.5, torch.device("cpu"), silent)


@pytest.fixture(scope="module")
def known(made: Synthetic, model: Model) -> list[Character]:
    height = page_ink(made.dirty).height
    assert height is not None
    factor = HEIGHT / height
    on_page = find_whole(page_ink(made.dirty), model, 0.5, silent)
    return [replace(each, box=tuple(round(side * factor) for side in each.box)) for each in on_page]  # type: ignore[arg-type]


def looked_at(made: Synthetic, model: Model, known: list[Character], lines: np.ndarray) -> list[Character]:
    """Draw pen strokes over the page, and look for what is hidden among the known characters."""
    pixels, strokes = made.dirty.pixels.copy(), np.zeros(made.dirty.pixels.shape, np.uint8)
    for x0, y0, x1, y1 in lines.tolist():
        cv2.line(strokes, (x0, y0), (x1, y1), 1, STROKE)
    pixels[strokes > 0] = np.minimum(pixels[strokes > 0], 40)
    found = ink(Page(pixels))
    height = page_ink(made.dirty).height
    assert height is not None
    grid = make_grid(found, height, torch.device("cpu"))
    size = grid.ink.shape[::-1]
    wide = cv2.resize(cv2.dilate(strokes, np.ones((5, 5), np.uint8)), size, interpolation=cv2.INTER_NEAREST) > 0
    return find_hidden(measure(wide, grid), grid, model, known)


def across(box: tuple[int, int, int, int], factor: float) -> np.ndarray:
    """Give two strokes that cross in the middle of a box, and go on far behind it."""
    x0, y0, x1, y1 = (side / factor for side in box)
    x, y, reach = (x0 + x1) / 2, (y0 + y1) / 2, 150
    return np.rint([[x - reach, y - 40, x + reach, y + 40], [x - 20, y + reach, x + 20, y - reach]]).astype(int)


def test_what_strokes_leave_of_a_character_is_enough(made, model, known):
    height = page_ink(made.dirty).height
    inner = [k for k in range(1, len(known) - 1) if 200 < known[k].box[0] < 900][::7]
    for k in inner:
        missing = known[k]
        lines = across(missing.box, HEIGHT / height)
        found = looked_at(made, model, [*known[:k], *known[k + 1 :]], lines)
        assert [each.c for each in found] == [missing.c]
        assert np.abs(np.subtract(found[0].box, missing.box)).max() <= 4
        assert found[0].posterior < 0.9


def test_strokes_between_words_are_no_characters(made, model, known):
    boxes = np.array([mark.box for mark in made.truth])
    gaps = [(a[2], b[0], a[1], a[3]) for a, b in itertools.pairwise(boxes) if 15 < b[0] - a[2] < 60]
    assert len(gaps) > 20
    lines = [[(x0 + x1) / 2 - 30, top - 60, (x0 + x1) / 2 + 30, bottom + 60] for x0, x1, top, bottom in gaps]
    assert looked_at(made, model, known, np.rint(lines).astype(int)) == []


def test_a_page_that_nothing_lies_over_hides_nothing(made, model, known):
    assert looked_at(made, model, known, np.zeros((0, 4), int)) == []
