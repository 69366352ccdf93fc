"""Pages cleaned as a user does it, and everything that can be wrong with them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from tests.e2e.test_command_line import assert_one_line_error, interrupted_at, unblot

PAGE = ["--chars", "aks", "--width", "900", "--height", "620", "--dirt", "0.8", "--seed", "2", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pages")
    assert unblot("synth", "-o", str(path / "page"), *PAGE).returncode == 0
    return path


@pytest.fixture(scope="module")
def cleaned(folder) -> subprocess.CompletedProcess[str]:
    return unblot(
        *("clean", str(folder / "page.png"), "-o", str(folder / "clean.png"), "--classes", "5", "--device", "cpu"),
        *("--json", str(folder / "clean.json"), "--save-model", str(folder / "letters.model")),
    )


def test_a_page_is_cleaned(folder, cleaned):
    assert cleaned.returncode == 0
    assert cleaned.stderr == ""
    assert "clean.png" in cleaned.stdout
    scored = json.loads(unblot("score", str(folder / "page.truth.json"), str(folder / "clean.json"), "--json").stdout)
    assert scored["recall"] > 0.85
    assert scored["false_positives"] == 0
    assert scored["substitutions"] == 0
    with Image.open(folder / "page.png") as before, Image.open(folder / "clean.png") as after:
        assert after.size == before.size
        assert after.info["dpi"] == pytest.approx(before.info["dpi"], abs=0.1)
        truth = np.asarray(Image.open(folder / "page.clean.png")) < 128
        painted = np.asarray(after) < 128
    assert (painted & truth).sum() > 0.8 * truth.sum()
    assert (painted & ~truth).sum() < 0.15 * truth.sum()


def test_the_result_keeps_the_contract(folder, cleaned):
    result = json.loads((folder / "clean.json").read_text())
    assert result["version"] == 1
    assert set(result) == {"version", "classes", "pages", "settings", "seconds"}
    (page,) = result["pages"]
    assert (page["width"], page["height"], page["index"]) == (900, 620, 0)
    assert page["source"].endswith("page.png")
    numbers = {row["id"] for row in result["classes"]}
    for each in page["characters"]:
        assert set(each) == {"class", "box", "quality", "posterior", "runner_up", "pass"}
        x0, y0, x1, y1 = each["box"]
        assert 0 <= x0 < x1 <= 900
        assert 0 <= y0 < y1 <= 620
        assert 0.5 < each["quality"] <= 1
        assert 0 <= each["posterior"] <= 1
        assert each["class"] in numbers
        assert each["runner_up"] is None or each["runner_up"] in numbers - {each["class"]}
    counts = {row["id"]: row["instances"] for row in result["classes"]}
    assert sum(counts.values()) == len(page["characters"])
    assert set(result["seconds"]) >= {"features", "learning", "detection", "cleaning"}


def test_a_model_finds_the_same_characters_again_with_the_same_bytes(folder, cleaned):
    model = ["--model", str(folder / "letters.model"), "--device", "cpu"]
    for name in ("first.json", "second.json"):
        assert unblot("detect", str(folder / "page.png"), *model, "--json", str(folder / name)).returncode == 0
    first, second = (json.loads((folder / name).read_text())["pages"] for name in ("first.json", "second.json"))
    assert first == second
    scored = unblot("score", str(folder / "page.truth.json"), str(folder / "first.json"), "--json")
    assert json.loads(scored.stdout)["recall"] > 0.8


def test_what_cannot_be_read_is_told_in_a_line(folder, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    whole = (folder / "page.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    for name, word in (
        ("missing.png", "cannot read"),
        (".", "cannot read"),
        ("text.png", "no picture"),
        ("cut.png", ""),
    ):
        done = unblot("clean", str(tmp_path / name), "-o", str(tmp_path / "out.png"))
        assert_one_line_error(done, 3, word)
        assert not (tmp_path / "out.png").exists()


def test_where_nothing_can_be_written_nothing_is_lost(folder, tmp_path):
    page = str(folder / "page.png")
    before = (folder / "page.png").read_bytes()
    assert_one_line_error(unblot("clean", page, "-o", str(tmp_path / "none" / "out.png")), 4, "no folder")
    assert_one_line_error(unblot("clean", page, "-o", str(tmp_path / "out.png"), "--json", str(tmp_path)), 4, "folder")
    assert_one_line_error(unblot("clean", page, "-o", str(tmp_path / "out.gif")), 2, "must end in")
    assert_one_line_error(unblot("clean", page, "-o", page), 2, "overwrite the input")
    assert_one_line_error(unblot("clean", page, page, "-o", str(tmp_path)), 2, "same name")
    assert_one_line_error(unblot("clean", page, str(folder / "page.clean.png"), "-o", str(tmp_path / "a")), 2, "folder")
    assert_one_line_error(unblot("learn", page, "-o", str(tmp_path / "none" / "a.model")), 4, "no folder")
    assert (folder / "page.png").read_bytes() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "option",
    [["--method", "magic"], ["--mode", "magic"], ["--classes", "few"], ["--classes", "1"], ["--threshold", "2"]],
)
def test_options_that_make_no_sense_are_told(folder, tmp_path, option):
    done = unblot("clean", str(folder / "page.png"), "-o", str(tmp_path / "out.png"), *option)
    assert_one_line_error(done, 2, option[0])


def test_a_page_without_ink_or_without_repetition_is_left_alone(tmp_path):
    rng = np.random.default_rng(0)
    blank = np.clip(rng.normal(250, 3, (420, 500)), 0, 255).astype(np.uint8)
    strokes = blank.copy()
    for row, column, length in ((60, 80, 300), (200, 30, 200), (330, 250, 220)):
        strokes[row : row + 8, column : column + length] = 20
    clouds = cv2.GaussianBlur(rng.random((900, 700)), (0, 0), 15)  # spots, some of which are alike
    clouds = (255 * (clouds - clouds.min()) / np.ptp(clouds)).astype(np.uint8)
    for name, pixels in (("blank", blank), ("strokes", strokes), ("clouds", clouds)):
        Image.fromarray(pixels).save(tmp_path / f"{name}.png")
        done = unblot("clean", str(tmp_path / f"{name}.png"), "-o", str(tmp_path / "out.png"), "--device", "cpu")
        assert_one_line_error(done, 5, "nothing was written")
        assert not (tmp_path / "out.png").exists()


def test_ctrl_c_leaves_nothing_half_written(folder, tmp_path):
    command = ["clean", str(folder / "page.png"), "-o", str(tmp_path / "out.png"), "--method", "patch"]
    code, said = interrupted_at("learning", *command)
    assert code == 130
    assert said.strip().endswith("unblot: error: interrupted")
    assert list(tmp_path.iterdir()) == []


def test_worn_type_is_read_for_what_it_is(tmp_path):
    page = ["--chars", "acehnou", "--width", "1100", "--height", "900", "--size", "54", "--wear", "0.8", "--seed", "3"]
    assert unblot("synth", "-o", str(tmp_path / "page"), *page, "--quiet").returncode == 0
    found = ["--json", str(tmp_path / "found.json"), "--device", "cpu", "--quiet"]
    assert unblot("clean", str(tmp_path / "page.png"), "-o", str(tmp_path / "out.png"), *found).returncode == 0
    result = unblot("score", str(tmp_path / "page.truth.json"), str(tmp_path / "found.json"), "--json")
    scored = json.loads(result.stdout)
    assert scored["recall"] > 0.98
    assert scored["false_positives"] <= 1
    assert scored["substitutions"] <= 1
