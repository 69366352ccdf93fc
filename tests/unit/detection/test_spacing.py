from __future__ import annotations

import numpy as np
import pytest

from unblot.cleaning.worn import uncrowded
from unblot.detection.reading import Readings
from unblot.detection.spacing import FARTHEST, crowding, learn_spacing, sides_of
from unblot.grid import FRAME
from unblot.learning.glyphs import as_learned
from unblot.model.wear import Wear

STEM, HOOK = range(2)


def classes() -> np.ndarray:
    """Draw a stem, and a hook whose foot goes on to the right."""
    own = np.zeros((2, *FRAME), bool)
    own[:, 20:40, 24:28] = True
    own[HOOK, 36:40, 24:36] = True
    return own


def lines(*words: str, count: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Set lines of words of stems (l) and hooks (L), 8 cells of paper behind a stem and 6 behind a hook."""
    c, corner = [], []
    for line in range(count):
        x = 100
        for letter in " ".join(words):
            if letter in "lL":
                c.append("lL".index(letter))
                corner.append((100 + 60 * line, x))
            x += {"l": 12, "L": 18, " ": 22}[letter]
    return np.array(c), np.array(corner)


def naive_gap(own: np.ndarray, c: np.ndarray, corner: np.ndarray, one: int, other: int) -> int:
    """Look at all cells of two characters that are in the same row, or in rows beside each other."""
    a, b = (np.argwhere(own[c[k]]) + corner[k] for k in (one, other))
    level = np.abs(a[:, None, 0] - b[None, :, 0]) <= 1
    apart = b[None, :, 1] - a[:, None, 1] - 1
    return int(min(FARTHEST, apart[level].min(initial=FARTHEST)))


@pytest.mark.parametrize("seed", range(3))
def test_gaps_are_those_of_the_cells(seed):
    rng = np.random.default_rng(seed)
    own = np.zeros((4, *FRAME), bool)
    for each in own:
        y, x = rng.integers(10, 30, 2)
        each[y : y + rng.integers(2, 20), x : x + rng.integers(2, 10)] = True
        each[y : y + 2, x : x + rng.integers(2, 20)] = True
    c, corner = rng.integers(0, 4, 40), rng.integers(0, 30, (40, 2))
    one, other = np.arange(39), np.arange(1, 40)
    expected = [naive_gap(own, c, corner, a, b) for a, b in zip(one, other, strict=True)]
    assert sides_of(own).gaps(c, corner, one, other).tolist() == expected


def test_only_neighbours_closer_than_usual_cost_something():
    c, corner = lines("lLlLl", "lll")
    spacing = learn_spacing(c, corner, sides_of(classes()))
    assert spacing is not None
    cost = spacing.cost(np.array([-10, 0, 5, 6, 9, FARTHEST]))
    assert (np.diff(cost) >= 0).all()
    assert cost[2] < -50
    assert (cost[3:] == 0).all()


def test_a_few_neighbours_tell_nothing():
    c, corner = lines("lLl", count=10)
    assert learn_spacing(c, corner, sides_of(classes())) is None
    assert (crowding(c, corner, sides_of(classes())) == 1).all()


def test_pieces_are_closer_than_characters_ever_stand_and_go_unless_they_are_whole():
    c, corner = lines("lLlLl", "lll")
    close = np.array([[100, 1000], [100, 1008]])
    c, corner = np.append(c, [HOOK, STEM]), np.concatenate([corner, close])
    own = classes()
    crowded = crowding(c, corner, sides_of(own)) < 0.01
    assert crowded.nonzero()[0].tolist() == [len(c) - 2, len(c) - 1]
    evidence = np.full(len(c), 500, np.float32)
    evidence[-1] = 300
    found = Readings(c, corner, evidence, evidence, evidence, np.full(len(c), -1))
    glyphs = [as_learned(ink.astype(np.float32), ink, Wear()) for ink in own]
    left = uncrowded(found, glyphs)
    assert len(left) == len(c) - 1
    assert corner[-1].tolist() not in left.corner.tolist()
