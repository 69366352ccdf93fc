"""What is written where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unblot.synth.impression import Type

MARGIN = 0.08  # of the page's width and height
LEADING = 1.6  # line pitch over font size
SPACE = 0.35  # width of a space over font size
WORD_LENGTHS = (2, 8)
TRIES = 60  # for a free place of a scattered character, before it is left out


@dataclass(frozen=True)
class Placement:
    """A character with the left end of its baseline; scattered characters have no word."""

    label: str
    x: float
    baseline: float
    word: int


def random_words(characters: str, rng: np.random.Generator) -> str:
    """Give one random word of the characters."""
    return "".join(rng.choice(list(characters), int(rng.integers(*WORD_LENGTHS))))


def in_lines(
    types: dict[str, Type], words: list[str] | None, size: float, width: int, height: int, rng: np.random.Generator
) -> list[Placement]:
    """Fill the page line by line, with given words or with random ones until it is full."""
    left, right, top, bottom = MARGIN * width, (1 - MARGIN) * width, MARGIN * height, (1 - MARGIN) * height
    alphabet = "".join(sorted(types))
    queue = iter(words) if words is not None else iter(lambda: random_words(alphabet, rng), None)
    placed: list[Placement] = []
    x, baseline = left, top + size
    for number, word in enumerate(queue):
        advance = sum(types[label].advance for label in word)
        if x > left and x + advance > right:
            x, baseline = left, baseline + LEADING * size
        if baseline > bottom:
            break
        for label in word:
            placed.append(Placement(label, x, baseline, number))
            x += types[label].advance
        x += SPACE * size
    return placed


def scattered(
    types: dict[str, Type], count: int, size: float, width: int, height: int, rng: np.random.Generator
) -> list[Placement]:
    """Throw characters onto the page so that none touches another."""
    taken = np.empty((0, 2))
    placed: list[Placement] = []
    labels = rng.permutation(np.resize(sorted(types), count))
    for number, label in enumerate(labels):
        for _ in range(TRIES):
            place = rng.uniform((MARGIN * width, MARGIN * height), ((1 - MARGIN) * width, (1 - MARGIN) * height))
            if not len(taken) or np.abs(taken - place).max(1).min() > 1.25 * size:
                taken = np.vstack([taken, place])
                placed.append(Placement(str(label), float(place[0]), float(place[1]), number))
                break
    return placed
