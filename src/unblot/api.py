"""The program from Python: `learn`, `clean`, and an estimator with `fit` and `transform`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from unblot import pipeline
from unblot.device import choose_device
from unblot.errors import UsageError
from unblot.model.file import Model
from unblot.page import Page, read_page
from unblot.pipeline import Result, Settings

Source = Page | Path | str | np.ndarray


def as_page(source: Source) -> Page:
    """Take a page, a file, or an array of 8-bit pixels, grey or colour."""
    if isinstance(source, Page):
        return source
    if isinstance(source, np.ndarray):
        if source.dtype != np.uint8 or source.ndim not in (2, 3) or (source.ndim == 3 and source.shape[2] != 3):
            raise UsageError("a page given as an array must be 8-bit, H x W for grey or H x W x 3 for colour")
        return Page(source)
    return read_page(source)


def learn(pages: Iterable[Source], *, device: str = "auto", settings: Settings | None = None) -> Model:
    """Learn the characters that repeat on some pages."""
    settings = settings or Settings()
    return pipeline.learn([as_page(page) for page in pages], settings, choose_device(device, settings.method))


def clean(
    page: Source, model: Model | None = None, *, device: str = "auto", settings: Settings | None = None
) -> Result:
    """Clean one page; with a model nothing is learned."""
    settings = settings or Settings()
    method = settings.method if model is None else model.method
    return pipeline.clean([as_page(page)], settings, choose_device(device, method), model)


class Cleaner:
    """An estimator: `fit` learns the characters of pages, `transform` gives pages back clean.

    `threshold` and `seed` are those of `Settings`, `device` is auto, cpu or cuda. What was learned is `model_`.
    """

    def __init__(self, *, threshold: float = 0.5, seed: int = 0, device: str = "auto") -> None:
        self.threshold = threshold
        self.seed = seed
        self.device = device

    def fit(self, pages: Iterable[Source], y: object = None) -> Cleaner:
        """Learn from pages."""
        self.model_ = learn(pages, device=self.device, settings=self._settings())
        return self

    def transform(self, pages: Iterable[Source]) -> list[np.ndarray]:
        """Give the pixels of every page, cleaned."""
        if not hasattr(self, "model_"):
            raise UsageError("nothing was learned yet; call fit before transform")
        results = [clean(page, self.model_, device=self.device, settings=self._settings()) for page in pages]
        return [result.pages[0].clean.pixels for result in results if result.pages[0].clean is not None]

    def fit_transform(self, pages: Iterable[Source], y: object = None) -> list[np.ndarray]:
        """Learn from pages and clean them."""
        kept = [as_page(page) for page in pages]
        return self.fit(kept).transform(kept)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters."""
        return {"threshold": self.threshold, "seed": self.seed, "device": self.device}

    def set_params(self, **parameters: Any) -> Cleaner:
        """Set parameters; an unknown one is an error."""
        for name, value in parameters.items():
            if name not in self.get_params():
                raise UsageError(f"there is no parameter {name}; choose from {', '.join(self.get_params())}")
            setattr(self, name, value)
        return self

    def _settings(self) -> Settings:
        return Settings(threshold=self.threshold, seed=self.seed)
