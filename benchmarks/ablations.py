"""What each part of learning and reading a whole page is worth: pages read without it.

    python benchmarks/ablations.py TRUTH.json PAGE [TRUTH.json PAGE ...]

A table with a row a part: recall / false positives / substitutions of each page; types with at least 20 examples on
pages that have more than 30 types.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from unblot import scale
from unblot.cleaning import whole
from unblot.detection import standing
from unblot.errors import NothingFoundError
from unblot.ink import DARKEST_PAPER
from unblot.learning import alike, parted, seeds
from unblot.page import Page, read_page
from unblot.pipeline import Settings, detect, learn
from unblot.score import Mark, read_truth, score

MANY, FREQUENT = 30, 20  # types, examples
RANDOM = 40  # parts that start classes where they are not chosen


def no_contrast(page: Page, reach: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give darkness against the page's usual paper, instead of the paper around."""
    lightness = 1 - page.darkness()
    paper = max(float(np.median(lightness)), DARKEST_PAPER)
    return np.clip(1 - lightness / paper, 0, 1).astype(np.float32), np.full_like(lightness, paper)


def random_ones(parts: seeds.Parts) -> tuple[np.ndarray, float]:
    """Choose the parts that start classes by chance; the level of ink is chosen as before."""
    chosen, covered = alike.first_ones(parts)
    if len(parts) <= RANDOM:
        return chosen, covered
    return np.sort(np.random.default_rng(0).choice(len(parts), RANDOM, replace=False)), covered


def everything(found: whole.Candidates, *_: object) -> np.ndarray:
    """Take every instance for sure."""
    return np.ones(len(found.c), bool)


def all_classes(*args: object) -> np.ndarray:
    """Let every class stand."""
    return np.ones(len(args[4]), bool)  # type: ignore[arg-type]


def none_of(count: Callable[..., int]) -> Callable[..., np.ndarray]:
    """Tell nothing of as many as there are."""
    return lambda *args: np.zeros(count(*args), bool)


def as_they_are(found: object, shapes: object, worth: object) -> tuple[object, object, object]:
    """Join no classes that always come together."""
    return found, shapes, worth


PARTS: dict[str, list[tuple[object, str, object]]] = {
    "all of it": [],
    "seeds chosen by chance": [(seeds, "first_ones", random_ones)],
    "no contrast: darkness instead of ink": [(scale, "ink_and_paper", no_contrast)],
    "no lines": [(standing, "find_lines", lambda *_: None), (whole, "find_hidden", lambda *_: [])],
    "all instances teach": [(whole, "sure_ones", everything)],
    "no classes merged, split, joined or dropped": [
        (whole, "merge", lambda *args: args[3]),
        (whole, "split", lambda _, taught, __: taught),
        (whole, "together", as_they_are),
        (whole, "standing_classes", all_classes),
        (whole, "pieces", none_of(lambda _, __, typical: len(typical))),
        (whole, "stroke_classes", none_of(lambda _, __, own: len(own))),
        (whole, "mostly", lambda _, typical, __: np.ones(len(typical), bool)),
    ],
    "no look at what strokes hide": [(whole, "find_hidden", lambda *_: [])],
    "worn type read as crisp": [(whole, "worn_seeds", lambda *_: None), (whole, "read_worn", lambda *_: None)],
    "worn classes not parted": [(parted, "two_worn_shapes", lambda *_: None)],
}


def measure(page: Page, truth: list[Mark], without: list[tuple[object, str, object]]) -> str:
    """Learn and read a page without some parts."""
    with ExitStack() as stack:
        for module, name, instead in without:
            stack.enter_context(patch.object(module, name, instead))
        try:
            model = learn([page], Settings(), torch.device("cpu"))
            found = detect([page], model, Settings()).pages[0].characters
        except NothingFoundError:
            return "nothing found"
    types = Counter(mark.name for mark in truth)
    marks = [Mark(str(each.character), each.box) for each in found]
    scored = score(truth, marks, FREQUENT if len(types) > MANY else 1)
    return f"{scored.recall:.4f} / {scored.false_positives} / {scored.substitutions}"


def main() -> None:
    """Print the table."""
    files = sys.argv[1:]
    pages = [(read_truth(Path(truth)), read_page(page)) for truth, page in zip(files[::2], files[1::2], strict=True)]
    print(f"| without | {' | '.join(Path(page).stem for page in files[1::2])} |\n|---|{'---|' * len(pages)}")
    for name, without in PARTS.items():
        print(f"| {name} | {' | '.join(measure(page, truth, without) for truth, page in pages)} |", flush=True)


if __name__ == "__main__":
    main()
