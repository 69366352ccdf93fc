"""The report in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image
from tests.e2e.test_command_line import assert_one_line_error, unblot

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    page = ["--chars", "aks", "--width", "900", "--height", "620", "--seed", "2", "--quiet"]
    assert unblot("synth", "-o", str(path / "page"), *page).returncode == 0
    done = unblot(
        *("clean", str(path / "page.png"), "-o", str(path / "clean.png"), "--protect", "10,20,200,90"),
        *("--json", str(path / "clean.json"), "--report", str(path / "report.html"), "--device", "cpu"),
    )
    assert done.returncode == 0, done.stderr
    return path


def test_the_report_holds_everything_and_needs_no_network(folder):
    text = (folder / "report.html").read_text()
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    found = json.loads((folder / "clean.json").read_text())["pages"][0]
    assert f"{len(found['characters'])} characters" in text


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_a_browser_draws_the_doubts_and_the_boxes(folder):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    page = subprocess.run(
        [*command, (folder / "report.html").as_uri()], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    found = json.loads((folder / "clean.json").read_text())["pages"][0]
    assert page.count("<rect ") == len(found["characters"])
    doubts = page.split('<ol class="doubt">')[1].split("</ol>")[0]
    assert doubts.count("<li>") == min(20, len(found["characters"]))
    assert doubts.count("<canvas") == 2 * min(20, len(found["characters"]))


def test_nothing_changes_in_a_protected_box(folder):
    before, after = (np.asarray(Image.open(folder / name)) for name in ("page.png", "clean.png"))
    np.testing.assert_array_equal(after[20:90, 10:200], before[20:90, 10:200])
    assert (after != before).any()


def test_pixels_are_compared(folder):
    scored = unblot(
        *("score", str(folder / "page.truth.json"), str(folder / "clean.json"), "--json"),
        *("--clean", str(folder / "page.clean.png"), "--image", str(folder / "clean.png")),
    )
    measures = json.loads(scored.stdout)
    assert measures["ink_kept"] > 0.98
    assert measures["dirt_removed"] > 0.8  # the protected box keeps its dirt
    assert measures["f_measure"] > 0.95


def test_a_box_that_is_none_is_refused(folder, tmp_path):
    for word in ("1,2,3", "a,b,c,d", "50,10,20,40"):
        done = unblot("clean", str(folder / "page.png"), "-o", str(tmp_path / "x.png"), "--protect", word)
        assert_one_line_error(done, 2)
        assert not (tmp_path / "x.png").exists()
