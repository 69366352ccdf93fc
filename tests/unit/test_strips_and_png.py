from __future__ import annotations

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from unblot import strips
from unblot.png import STRIP, encode
from unblot.strips import in_strips


@pytest.mark.parametrize("processors", [1, 3, 16])
def test_strips_give_what_the_whole_page_gives(processors, monkeypatch):
    monkeypatch.setattr(strips, "processors", lambda: processors)
    page = np.random.default_rng(0).random((1500, 40), np.float32)

    def work(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return cv2.GaussianBlur(rows, (0, 0), 2.0), cv2.dilate(rows, np.ones((9, 9), np.uint8))

    for whole, joined in zip(work(page), in_strips(work, page, 10), strict=True):
        assert (whole == joined).all()


def test_too_little_reach_shows():
    page = np.random.default_rng(0).random((1500, 40), np.float32)
    both = in_strips(lambda rows: (cv2.GaussianBlur(rows, (0, 0), 2.0),), page, 0)[0]
    assert strips.processors() == 1 or (both != cv2.GaussianBlur(page, (0, 0), 2.0)).any()


@pytest.mark.parametrize("shape", [(1, 1), (STRIP, 7), (STRIP + 1, 5, 3), (3 * STRIP - 1, 30)])
@pytest.mark.parametrize("dpi", [None, (300.0, 400.0)])
def test_png_files_are_read_as_they_were_written(shape, dpi):
    pixels = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    data = encode(pixels, dpi)
    with Image.open(io.BytesIO(data)) as image:
        image.verify()
    with Image.open(io.BytesIO(data)) as image:
        assert (np.asarray(image) == pixels).all()
        assert image.info.get("dpi") == (dpi and pytest.approx(dpi, abs=0.02))
