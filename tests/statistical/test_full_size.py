"""The figures at the paper's sizes: minutes, so only with `make test-all`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def test_truncation_is_five_times_faster_and_learns_the_same():
    done = subprocess.run(
        [sys.executable, "benchmarks/truncation.py", "--device", "cpu"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert float(re.search(r"ratio:\s+([\d.]+)", done.stdout).group(1)) >= 5
    for name in ("pi", "A", "W", "Phi"):
        difference = re.search(rf"\b{name}: differs by (\S+) in the mean", done.stdout).group(1)
        assert float(difference) < 1e-3


def test_the_artificial_experiment_comes_under_three_percent(tmp_path):
    command = [sys.executable, "-m", "unblot", "reproduce", "artificial", "--seeds", "1", "-o", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    (row,) = json.loads((tmp_path / "table.json").read_text())["seeds"]
    assert row["recovered"] == 5
    assert row["divergence"]["mean"] < 0.03
    assert row["seconds"] < 600
