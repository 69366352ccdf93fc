from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import save_file
from tests.worlds import random_data, random_theta

from unblot.errors import InputError, OutputError
from unblot.features import GaborBank
from unblot.model.file import Model, load_model, save_model


@pytest.fixture
def model() -> Model:
    theta = random_theta(0, dtype=torch.float32)
    looks = (torch.tensor([0, -1, 1][: theta.C]), torch.rand(theta.C, 6, 6), torch.ones(theta.C, 4, dtype=torch.int64))
    looks = (*looks, torch.rand(theta.C))
    return Model(theta, random_data(0, theta)[1], (3, 3), GaborBank(scales=2), *looks)


def test_a_model_comes_back_as_it_was(model, tmp_path):
    save_model(model, tmp_path / "a.model")
    loaded = load_model(tmp_path / "a.model")
    assert loaded.D == (3, 3)
    assert loaded.bank == GaborBank(scales=2)
    assert loaded.characters == model.characters
    for name in ("character", "pictures", "boxes", "typical"):
        assert torch.equal(getattr(loaded, name), getattr(model, name))
    for part in ("theta", "background"):
        for name, value in vars(getattr(model, part)).items():
            assert torch.equal(getattr(getattr(loaded, part), name), value)
    assert [path.name for path in tmp_path.iterdir()] == ["a.model"]


def test_a_truncated_file_is_refused(model, tmp_path):
    save_model(model, tmp_path / "a.model")
    whole = (tmp_path / "a.model").read_bytes()
    for size in (0, 5, 60, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.model").write_bytes(whole[:size])
        with pytest.raises(InputError, match="damaged"):
            load_model(tmp_path / "cut.model")


def test_foreign_newer_and_missing_files_are_refused(tmp_path):
    save_file({"W": torch.zeros(1)}, tmp_path / "foreign")
    with pytest.raises(InputError, match="no unblot model"):
        load_model(tmp_path / "foreign")
    newer = {"unblot": json.dumps({"format": "unblot-model", "version": 99})}
    save_file({"W": torch.zeros(1)}, tmp_path / "newer", metadata=newer)
    with pytest.raises(InputError, match="version 99"):
        load_model(tmp_path / "newer")
    with pytest.raises(InputError, match="cannot read"):
        load_model(tmp_path / "missing")
    (tmp_path / "text").write_text("this is no model at all, but it is long enough to look like one")
    with pytest.raises(InputError, match="damaged"):
        load_model(tmp_path / "text")


def test_a_header_without_its_tensors_is_refused(tmp_path):
    header = {"unblot": json.dumps({"format": "unblot-model", "version": 1, "D": [3, 3]})}
    save_file({"W": torch.zeros(1)}, tmp_path / "hollow", metadata=header)
    with pytest.raises(InputError, match="damaged"):
        load_model(tmp_path / "hollow")


def test_a_folder_that_is_not_there_is_an_output_error(model, tmp_path):
    with pytest.raises(OutputError, match="cannot write"):
        save_model(model, tmp_path / "no" / "a.model")
