"""docs/paper.md tells the truth: the functions carry their equations, the tests exist."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\d+) \| [^|]+ \| `([\w.]+)` \| `([\w./]+)::(\w+)` \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs/paper.md").read_text())


def test_every_equation_has_a_row():
    assert {int(number) for number, *_ in ROWS} == set(range(1, 17))


@pytest.mark.parametrize(("number", "function", "file", "test"), ROWS)
def test_function_names_its_equation_and_test_exists(number, function, file, test):
    module, _, name = function.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    source = inspect.getsource(getattr(found, "py_func", found))
    assert re.search(rf"Eqs?\. (\d+, )*{number}\b", source)
    assert re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_each_equation_is_marked_in_one_place_for_each_purpose():
    """A line that computes an equation is listed in the map: no marked function is missing from it."""
    listed = {function for _, function, _, _ in ROWS}
    for path in (ROOT / "src/unblot").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        current = ""
        for line in path.read_text().splitlines():
            if match := re.match(r"(?:def|class) (\w+)", line):
                current = f"{module}.{match.group(1)}"
            if re.search(r"  # Eq\. \d+", line):
                assert current in listed, f"{current} computes an equation that docs/paper.md does not list"
