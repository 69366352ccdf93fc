"""The paper's documents, in a size of seconds."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from tests.e2e.test_command_line import unblot

from unblot.experiments.ocr import read_with_tesseract
from unblot.score import score
from unblot.synth.make import Recipe, make, write

PANELS = ["patches", "parameters", "characters", "passes", "before-after"]


@pytest.mark.slow
def test_a_small_document_is_reproduced_with_its_panels_and_its_table(tmp_path):
    done = unblot("reproduce", "scatter", "--small", "--seeds", "1", "--device", "cpu", "-o", str(tmp_path))
    assert done.returncode == 0
    for name in PANELS:
        pixels = np.asarray(Image.open(tmp_path / f"{name}.png").convert("L"))
        assert pixels.std() > 5
    table = json.loads((tmp_path / "table.json").read_text())
    assert [row["seed"] for row in table["seeds"]] == [0]
    assert table["seeds"][0]["score"]["types_found"] >= 4
    assert table["seeds"][0]["score"]["false_positives"] <= 2
    assert (table["tesseract"] is not None) == (shutil.which("tesseract") is not None)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_tesseract_reads_a_clean_page_and_its_boxes_are_ours(tmp_path):
    made = make(Recipe(text="the quick brown fox jumps over the lazy dog", width=1600, height=500, dirt=0.0))
    picture, _, _ = write(made, tmp_path / "page")
    counted = score(made.truth, read_with_tesseract(picture))
    assert counted.recall > 0.8
