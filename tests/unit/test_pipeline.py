from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
import torch

from unblot import pipeline
from unblot.cleaning.passes import Character
from unblot.cleaning.restore import Restored
from unblot.errors import NothingFoundError
from unblot.model.file import Model
from unblot.page import Page
from unblot.pipeline import Settings, clean
from unblot.scale import PageInk

BOXES = [(20 + 30 * k, 20, 32 + 30 * k, 60) for k in range(8)]


@pytest.fixture
def pages(monkeypatch) -> list[Page]:
    """Give two pages with eight bars each; all of them are read as characters on the first, two on the second."""
    pixels = np.full((500, 300), 250, np.uint8)
    for x0, y0, x1, y1 in BOXES:
        pixels[y0:y1, x0:x1] = 20

    def find(inks: list[PageInk], *_: object) -> list[list[Character]]:
        read = [Character(0, 0, box, 0.9, 0.9, None, 1) for box in BOXES]
        return [read, read[:2]][-len(inks) :]

    monkeypatch.setattr(pipeline, "_learn", lambda *_: Mock(spec=Model, method="page"))
    monkeypatch.setattr(pipeline, "_find", find)
    monkeypatch.setattr(pipeline, "settle", lambda _, characters, __: (characters, {}))
    blank = Page(np.full_like(pixels, 250))
    monkeypatch.setattr(pipeline, "restore", lambda *_: Restored(blank, [], []))
    return [Page(pixels), Page(pixels.copy())]


def test_a_page_that_is_no_text_is_given_back_as_it_is_beside_pages_that_are(pages):
    text, other = clean(pages, Settings(), torch.device("cpu")).pages
    assert len(text.characters) == 8
    assert text.clean is not None
    assert text.clean.pixels.min() == 250
    assert other.characters == []
    assert other.clean is not None
    assert (other.clean.pixels == pages[1].pixels).all()


def test_where_no_page_is_text_nothing_is_given_back(pages):
    with pytest.raises(NothingFoundError, match="nothing was written"):
        clean(pages[1:], Settings(), torch.device("cpu"))
