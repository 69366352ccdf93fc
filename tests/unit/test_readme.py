from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_python_of_the_readme_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    assert names["theta"].W.shape == (3, 8, 8, 3)
    assert len(capsys.readouterr().out.splitlines()) == 50


def test_the_readme_names_the_two_commands_and_existing_files():
    assert "make demo" in README
    assert "make test" in README
    root = Path(__file__).parents[2]
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (root / target).exists()
