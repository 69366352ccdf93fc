"""The program in a screenful: learn the characters of pages, find them, clean the pages."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from unblot.cleaning.alphabet import Lesson, learn_alphabet
from unblot.cleaning.doubts import is_text
from unblot.cleaning.marks import Box
from unblot.cleaning.passes import Character, find_characters
from unblot.cleaning.repaint import repaint
from unblot.cleaning.restore import protect, restore
from unblot.cleaning.stamps import settle
from unblot.cleaning.whole import find_whole, learn_whole
from unblot.errors import NothingFoundError, UsageError
from unblot.features import GaborBank
from unblot.learning.repeats import Schedule
from unblot.model.file import Model
from unblot.page import Page
from unblot.progress import Clock, Progress, Watch, silent
from unblot.scale import PageInk, ink_as_seen, page_ink

METHODS, MODES = ("page", "patch"), ("restore", "repaint")
PAPERS = ("keep", "white")


@dataclass(frozen=True)
class Settings:
    """Everything that can be set; the defaults need nobody to set anything."""

    method: str = "page"
    mode: str = "restore"
    threshold: float = 0.5
    seed: int = 0
    schedule: Schedule = field(default_factory=Schedule)
    bank: GaborBank = field(default_factory=GaborBank)
    paper: str = "keep"
    protected: tuple[Box, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what there is not."""
        if self.method not in METHODS:
            raise UsageError(f"--method must be one of {', '.join(METHODS)}, not {self.method}")
        if self.mode not in MODES:
            raise UsageError(f"--mode must be one of {', '.join(MODES)}, not {self.mode}")
        if self.paper not in PAPERS:
            raise UsageError(f"--paper must be one of {', '.join(PAPERS)}, not {self.paper}")
        for x0, y0, x1, y1 in self.protected:
            if not (0 <= x0 < x1 and 0 <= y0 < y1):
                raise UsageError(f"--protect takes x0,y0,x1,y1 with x0 < x1 and y0 < y1, not {x0},{y0},{x1},{y1}")
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"--threshold must lie between 0 and 1, not {self.threshold}")
        if self.seed < 0:
            raise UsageError(f"--seed must not be negative, not {self.seed}")
        if self.schedule.classes is not None and not 2 <= self.schedule.classes <= 1000:
            raise UsageError(f"--classes must be auto or a number from 2 to 1000, not {self.schedule.classes}")


@dataclass(frozen=True)
class PageResult:
    """What was found on a page, the page cleaned, and which unknown marks were kept and which removed."""

    source: Page
    characters: list[Character]
    clean: Page | None = None
    kept: list[Box] = field(default_factory=list)
    removed: list[Box] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """What came of some pages: the model, the pages, and the seconds each stage took."""

    model: Model
    pages: list[PageResult]
    settings: Settings
    seconds: dict[str, float]


def learn(pages: list[Page], settings: Settings, device: torch.device, watch: Watch = silent) -> Model:
    """Learn the characters that repeat on some pages; the pages themselves are all there is to learn from."""
    return _learn(_inks(pages, settings.method), settings, device, watch, Clock())


def detect(pages: list[Page], model: Model, settings: Settings, watch: Watch = silent) -> Result:
    """Find the characters of a model on pages."""
    clock = Clock()
    inks = _inks(pages, model.method)
    clock.lap("features")
    found = _find(inks, model, settings, watch)
    clock.lap("detection")
    results = [PageResult(page, characters) for page, characters in zip(pages, found, strict=True)]
    return Result(model, results, settings, clock.seconds)


def clean(
    pages: list[Page], settings: Settings, device: torch.device, model: Model | None = None, watch: Watch = silent
) -> Result:
    """Learn the pages' characters, unless a model is given, find them, and give the pages back clean."""
    clock = Clock()
    inks = _inks(pages, settings.method if model is None else model.method)
    clock.lap("features")
    given = model is not None
    model = model.to(device) if model is not None else _learn(inks, settings, device, watch, clock)
    found = _find(inks, model, settings, watch)
    if not given and model.method == "page":
        found = [each if is_text(inked, each) else [] for inked, each in zip(inks, found, strict=True)]
    clock.lap("detection")
    if not any(found):
        raise NothingFoundError(
            "hardly anything on the page was read as characters: it is no text, or none that repeats; "
            "the input is left as it is, nothing was written"
        )
    results = []
    for number, (page, inked, characters) in enumerate(zip(pages, inks, found, strict=True)):
        results.append(_cleaned(page, inked, characters, model, settings))
        watch(Progress("cleaning", number + 1, len(pages)))
    clock.lap("cleaning")
    return Result(model, results, settings, clock.seconds)


def _cleaned(page: Page, inked: PageInk, characters: list[Character], model: Model, settings: Settings) -> PageResult:
    if not characters:  # nothing tells dirt from what is no text
        return PageResult(page, [], page)
    if settings.mode == "repaint":
        painted = repaint(page, inked.ink, characters, model)
        return PageResult(page, characters, protect(painted, page, settings.protected))
    settled, stamps = settle(inked.ink, characters, model)
    restored = restore(page, inked, settled, stamps, settings.paper == "white")
    clean = protect(restored.page, page, settings.protected)
    return PageResult(page, settled, clean, restored.kept, restored.removed)


def _inks(pages: list[Page], method: str) -> list[PageInk]:
    return [page_ink(page) if method == "page" else ink_as_seen(page) for page in pages]


def _learn(inks: list[PageInk], settings: Settings, device: torch.device, watch: Watch, clock: Clock) -> Model:
    if settings.method == "page":
        model = learn_whole(inks, settings.schedule.classes, settings.threshold, device, watch)
        clock.lap("learning")
        return model
    lesson = Lesson(settings.schedule, settings.bank, settings.threshold, settings.seed)
    return learn_alphabet([each.ink for each in inks], lesson, device, watch, clock)


def _find(inks: list[PageInk], model: Model, settings: Settings, watch: Watch) -> list[list[Character]]:
    truncation, threshold = settings.schedule.truncation, settings.threshold
    if model.method == "page":
        return [find_whole(inked, model, threshold, watch) for inked in inks]
    return [find_characters(inked.ink, model, threshold, truncation, watch) for inked in inks]
