from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.worlds import random_data, random_theta

from unblot.cleaning.passes import Character, accept, blank
from unblot.cleaning.repaint import exemplars, repaint
from unblot.detection.scan import Sightings
from unblot.features import STRIDE, GaborBank
from unblot.model.file import Model
from unblot.page import Page

BOX = (6, 3, 18, 21)  # of both classes, in a frame of 30 x 24 pixels


@pytest.fixture
def model() -> Model:
    theta = random_theta(0, C=3, P=(10, 8), dtype=torch.float32)
    pictures = torch.zeros(3, 30, 24)
    pictures[:2, 3:21, 6:18] = 0.5
    pictures[0, 3:21, 6:9] = 1
    boxes = torch.tensor([BOX, BOX, (0, 0, 0, 0)])
    looks = (torch.tensor([0, 1, -1]), pictures, boxes, torch.zeros(3))
    return Model(theta, random_data(0, theta)[1], (12, 10), GaborBank(), *looks)


def sightings(*rows: tuple[int, int, int, float]) -> Sightings:
    c, place, quality = [r[0] for r in rows], [r[1:3] for r in rows], [r[3] for r in rows]
    posterior = torch.full((len(rows), 2), 0.2)
    posterior[torch.arange(len(rows)), torch.tensor(c)] = 0.8
    return Sightings(torch.tensor(c), torch.tensor(place), torch.tensor(quality), posterior)


@pytest.fixture
def ink(model) -> np.ndarray:
    page = np.zeros((120, 150), np.float32)
    for top, left in ((30, 30), (30, 90)):
        page[top + 3 : top + 21, left + 6 : left + 18] = model.pictures[0].numpy()[3:21, 6:18]
    return page


def test_the_best_reading_of_each_piece_of_ink_is_taken(model, ink):
    seen = sightings((0, 10, 10, 0.9), (1, 10, 10, 0.7), (0, 10, 30, 0.6), (0, 30, 30, 0.99), (1, 25, 10, 0.4))
    found = accept(seen, ink, ink, model, 0.5, [], 2)
    assert [(each.character, each.box, each.found_in) for each in found] == [
        (0, (36, 33, 48, 51), 2),
        (0, (96, 33, 108, 51), 2),
    ]
    assert found[0].posterior == pytest.approx(0.8)
    assert found[0].runner_up == 1
    assert accept(seen, ink, ink, model, 0.5, found, 3) == []


def test_a_character_whose_ink_is_not_there_is_none(model, ink):
    broken = ink.copy()
    broken[33:37, 36:48] = 0  # 4 of its 18 rows
    assert accept(sightings((0, 10, 10, 0.9)), broken, broken, model, 0.5, [], 1) == []
    hidden = accept(sightings((0, 10, 10, 0.9)), ink, broken, model, 0.5, [], 1)  # by another's box, taken off before
    assert len(hidden) == 1


def test_a_match_is_moved_onto_the_ink(model, ink):
    moved = np.roll(ink, (2, -1), (0, 1))
    assert accept(sightings((0, 10, 10, 0.9)), moved, moved, model, 0.5, [], 1)[0].box == (35, 35, 47, 53)


def test_blanking_takes_the_box_and_marks_what_its_features_reach(ink):
    changed = blank(ink, [Character(0, 0, (36, 33, 48, 51), 0.9, 1.0, None, 1)], 9)
    assert ink[33:51, 36:48].max() == 0
    assert ink[33:51, 96:108].max() == 1
    assert changed.shape == ink[::STRIDE, ::STRIDE].shape
    rows, columns = np.nonzero(changed)
    assert (rows.min() * STRIDE, columns.min() * STRIDE) == (24, 27)
    assert rows.max() * STRIDE >= 60 > (rows.max() - 1) * STRIDE


def test_the_best_instance_is_painted_at_every_place(model, ink):
    ink[33:51, 100:104] = 0.2  # dirt on the second instance
    found = [
        Character(0, 0, (36, 33, 48, 51), 0.9, 1.0, None, 1),
        Character(0, 0, (96, 33, 108, 51), 0.6, 1.0, None, 1),
    ]
    best = exemplars(ink, found, model)
    assert best[0][0] is found[0]
    page = Page(np.rint(255 * (1 - ink)).astype(np.uint8), (300.0, 300.0))
    clean = repaint(page, ink, found, model)
    assert clean.dpi == (300.0, 300.0)
    np.testing.assert_array_equal(clean.pixels[33:51, 36:48], clean.pixels[33:51, 96:108])
    assert (clean.pixels[:, :30] == 255).all()
    dark = repaint(Page(255 - page.pixels), ink, found, model)
    np.testing.assert_allclose(dark.pixels.astype(int), 255 - clean.pixels.astype(int), atol=1)
