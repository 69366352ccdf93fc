from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unblot
from unblot.api import as_page
from unblot.errors import UsageError

EXAMPLE = Path(__file__).parents[2] / "examples" / "dirty.png"


def test_a_page_may_be_a_file_an_array_or_a_page():
    page = as_page(EXAMPLE)
    np.testing.assert_array_equal(as_page(page.pixels).pixels, page.pixels)
    assert as_page(page) is page
    for wrong in (np.zeros((5, 5)), np.zeros((5, 5, 4), np.uint8)):
        with pytest.raises(UsageError, match="8-bit"):
            as_page(wrong)


def test_the_estimator_stores_its_parameters_and_refuses_others():
    cleaner = unblot.Cleaner(threshold=0.7)
    assert cleaner.get_params() == {"threshold": 0.7, "seed": 0, "device": "auto"}
    assert cleaner.set_params(seed=3).seed == 3
    with pytest.raises(UsageError, match="no parameter"):
        cleaner.set_params(sed=3)
    with pytest.raises(UsageError, match="fit before"):
        cleaner.transform([EXAMPLE])


def test_fit_and_transform_are_learn_and_clean(monkeypatch):
    page = as_page(EXAMPLE)
    learned = object()
    monkeypatch.setattr(unblot.api.pipeline, "learn", lambda pages, settings, device: (len(pages), settings, learned))
    cleaner = unblot.Cleaner(threshold=0.6, seed=2, device="cpu").fit([page, page])
    count, settings, model = cleaner.model_
    assert (count, settings.threshold, settings.seed, model) == (2, 0.6, 2, learned)


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute"):
        unblot.nothing  # noqa: B018
