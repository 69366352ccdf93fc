from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_python_of_the_readme_runs(capsys, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    first, second = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    assert names["model"].characters == 3
    assert (tmp_path / "clean.png").exists()
    exec(second, names)
    assert names["theta"].W.shape == (3, 8, 8, 3)
    assert len(capsys.readouterr().out.splitlines()) == 50


def test_the_readme_names_the_two_commands_and_existing_files():
    assert "make demo" in README
    assert "make test" in README
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists()
