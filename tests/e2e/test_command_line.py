"""The program as a user starts it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

UNBLOT = [str(Path(sys.executable).with_name("unblot"))]


def unblot(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*UNBLOT, *arguments], capture_output=True, text=True, timeout=300, **options)


def interrupted_at(word: str, *arguments: str) -> tuple[int, str]:
    """Exit code and words of a run on a terminal that gets Ctrl-C once its display says a word."""
    ours, theirs = os.openpty()
    running = subprocess.Popen(
        [*UNBLOT, *arguments],
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which jobs in the background ignore
    )
    os.close(theirs)
    said, sent = "", False
    with contextlib.suppress(OSError):  # what reading says once the run has ended
        while part := os.read(ours, 4096):
            said += part.decode(errors="replace")
            if not sent and word in said:
                running.send_signal(signal.SIGINT)
                sent = True
    os.close(ours)
    return running.wait(timeout=60), said


def assert_one_line_error(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code
    assert done.stderr.startswith("unblot: error: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_help_is_quick_and_imports_no_torch():
    unblot("--help")  # the first start may still write compiled files
    started = time.perf_counter()
    done = unblot("--help")
    assert time.perf_counter() - started < 0.5
    assert done.returncode == 0
    assert "reproduce" in done.stdout
    code = "import sys, unblot.cli; sys.exit('torch' in sys.modules or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_version():
    assert unblot("--version").stdout.startswith("unblot 0.")


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("small")
    done = unblot("reproduce", "artificial", "--small", "--seed", "3", "--seeds", "2", "-o", str(folder))
    return folder, done


def test_the_small_experiment_recovers_the_characters(small):
    folder, done = small
    assert done.returncode == 0
    assert done.stderr == ""
    rows = json.loads((folder / "table.json").read_text())["seeds"]
    assert [row["seed"] for row in rows] == [3, 4]
    for row in rows:
        assert row["recovered"] == 5
        assert set(row["divergence"]) >= {"pi", "A", "W", "Phi", "mean"}
        assert (
            row["divergence"]["mean"] < 0.04
        )  # with 60 instead of 200 patches a class, variances are 1.8 times as uncertain
    names = {"background.png", "patches.png", "course.png", "learned.png", "table.json", "table.md"}
    assert {path.name for path in folder.iterdir()} == names
    for name in names:
        if name.endswith(".png"):
            assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_gives_the_same_bytes(small, tmp_path):
    folder, _ = small
    unblot("reproduce", "artificial", "--small", "--seed", "3", "--seeds", "1", "-o", str(tmp_path), "--quiet")
    for name in ("background.png", "patches.png", "course.png", "learned.png"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    mine, yours = (json.loads((place / "table.json").read_text())["seeds"][0] for place in (tmp_path, folder))
    assert mine["divergence"] == yours["divergence"]


def test_plain_em_can_be_chosen(tmp_path):
    done = unblot("reproduce", "artificial", "--small", "--plain", "--seeds", "1", "-o", str(tmp_path))
    assert done.returncode == 0
    assert len(json.loads((tmp_path / "table.json").read_text())["seeds"]) == 1


def test_wrong_usage_is_one_line_and_code_2(tmp_path):
    assert_one_line_error(unblot("reproduce", "nothing", "-o", str(tmp_path)), 2, "nothing", "artificial")
    assert_one_line_error(unblot("reproduce", "artificial"), 2, "--output")
    assert_one_line_error(unblot("reproduce", "artificial", "-o", str(tmp_path), "--seeds", "0"), 2, "--seeds")
    assert_one_line_error(unblot("reproduce", "artificial", "-o", str(tmp_path), "--seeds", "x"), 2, "--seeds")
    assert_one_line_error(unblot("reproduce", "artificial", "-o", str(tmp_path), "--device", "tpu"), 2, "--device")
    assert_one_line_error(unblot("paint"), 2, "paint")
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_made_is_code_4(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = unblot("reproduce", "artificial", "--small", "--seeds", "1", "-o", str(tmp_path / "file" / "folder"))
    assert_one_line_error(done, 4, "folder")
    assert (tmp_path / "file").read_text() == "in the way"


def test_debug_shows_where_an_error_came_from(tmp_path):
    done = unblot("reproduce", "nothing", "-o", str(tmp_path), "--debug")
    assert "Traceback" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupt_leaves_no_half_of_a_file(tmp_path):
    code, said = interrupted_at("seed 0", "reproduce", "artificial", "--small", "-o", str(tmp_path))
    assert code == 130
    assert said.strip().endswith("unblot: error: interrupted")
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_score_prints_counts_for_people_and_for_machines(tmp_path):
    truth, result = tmp_path / "truth.json", tmp_path / "result.json"
    characters = [{"label": name, "box": [20 * k, 0, 20 * k + 10, 10]} for k, name in enumerate("abca")]
    truth.write_text(json.dumps({"width": 100, "height": 20, "text": "abca", "characters": characters}))
    found = [{"class": "xyyx".index(c), "box": r["box"]} for c, r in zip("xyyx", characters, strict=True)]
    result.write_text(json.dumps({"version": 1, "pages": [{"characters": found}]}))
    done = unblot("score", str(truth), str(result))
    assert done.returncode == 0
    assert "recall           0.7500  (3 of 4)" in done.stdout
    numbers = json.loads(unblot("score", str(truth), str(result), "--json").stdout)
    assert numbers["recall"] == 0.75
    assert (numbers["false_positives"], numbers["substitutions"], numbers["missed"]) == (0, 1, 0)
    assert_one_line_error(unblot("score", str(truth), str(tmp_path / "none.json")), 3, "none.json")


def test_synth_writes_a_page_with_its_truth(tmp_path):
    stem = tmp_path / "page"
    small = ("--width", "500", "--height", "400", "--size", "40", "--turn", "b:90", "--wear", "0.5")
    done = unblot("synth", "-o", str(stem), "--chars", "abc", *small)
    assert done.returncode == 0
    names = ["page.clean.png", "page.png", "page.truth.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    truth = json.loads((tmp_path / "page.truth.json").read_text())
    assert (truth["width"], truth["height"]) == (500, 400)
    assert truth["text"].replace(" ", "").replace("\n", "") == "".join(c["label"] for c in truth["characters"])
    before = {name: (tmp_path / name).read_bytes() for name in names}
    unblot("synth", "-o", str(stem), "--chars", "abc", *small)
    assert {name: (tmp_path / name).read_bytes() for name in names} == before
    assert_one_line_error(unblot("synth", "-o", str(tmp_path / "no" / "page"), *small), 4, "page.png")
    assert_one_line_error(unblot("synth", "-o", str(stem), "--turn", "b=90"), 2, "b=90")
    assert_one_line_error(unblot("synth", "-o", str(stem), "--font", "missing.ttf"), 3, "missing.ttf")
    assert_one_line_error(unblot("synth", "-o", str(stem), "--text", str(tmp_path / "none.txt")), 3, "none.txt")
