from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unblot.errors import InputError, UsageError
from unblot.score import REACH, Mark, pair, read_result, read_truth, score


def mark(name: str, x: float, y: float = 0, side: float = 10) -> Mark:
    return Mark(name, (x - side / 2, y - side / 2, x + side / 2, y + side / 2))


def test_a_class_stands_for_the_label_most_of_its_pairs_have():
    truth = [mark("a", 0), mark("a", 100), mark("b", 200), mark("b", 300), mark("c", 400)]
    found = [mark("1", 1), mark("1", 101), mark("1", 201), mark("2", 301), mark("2", 900)]
    counted = score(truth, found)
    assert (counted.correct, counted.substitutions, counted.missed, counted.false_positives) == (3, 1, 1, 1)
    assert counted.recall == 3 / 5
    assert (counted.types, counted.types_found) == (3, 2)


def test_pairs_are_closer_than_the_reach():
    assert score([mark("a", 0)], [mark("1", 3.99)]).correct == 1
    assert score([mark("a", 0)], [mark("1", 4.0)]).false_positives == 1


def test_the_nearest_detection_takes_the_character():
    counted = score([mark("a", 0)], [mark("1", 3), mark("2", 1)])
    assert pair([mark("a", 0)], [mark("1", 3), mark("2", 1)]) == [(0, 1)]
    assert (counted.correct, counted.false_positives) == (1, 1)


def test_rare_types_are_left_out_of_the_count():
    truth = [mark("a", 0), mark("a", 100), mark("z", 200)]
    counted = score(truth, [mark("1", 0), mark("2", 200)], min_count=2)
    assert (counted.characters, counted.correct, counted.missed, counted.false_positives) == (2, 1, 1, 0)


def test_empty_pages():
    assert score([], []).recall == 1.0
    assert score([mark("a", 0)], []).missed == 1
    assert score([], [mark("1", 0)]).false_positives == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_pairing_is_the_naive_one(seed):
    rng = np.random.default_rng(seed)
    truth = [mark(rng.choice(list("abc")), *rng.uniform(0, 40, 2), side=rng.uniform(5, 15)) for _ in range(8)]
    found = [mark(rng.choice(list("123")), *rng.uniform(0, 40, 2)) for _ in range(9)]

    def distance(t, f):
        a, b = truth[t].box, found[f].box
        return np.hypot((a[0] + a[2] - b[0] - b[2]) / 2, (a[1] + a[3] - b[1] - b[3]) / 2)

    free_t, free_f, expected = set(range(8)), set(range(9)), []
    while True:
        allowed = [
            (distance(t, f), t, f)
            for t, f in itertools.product(free_t, free_f)
            if distance(t, f) < REACH * max(truth[t].box[2] - truth[t].box[0], truth[t].box[3] - truth[t].box[1])
        ]
        if not allowed:
            break
        _, t, f = min(allowed)
        expected.append((t, f))
        free_t.discard(t)
        free_f.discard(f)
    assert pair(truth, found) == expected
    counted = score(truth, found)
    assert counted.correct + counted.substitutions + counted.missed == 8
    assert counted.correct + counted.substitutions + counted.false_positives == 9


def test_files_that_do_not_fit_are_refused(tmp_path):
    file = tmp_path / "a.json"
    with pytest.raises(InputError, match="cannot read"):
        read_truth(file)
    file.write_text("{")
    with pytest.raises(InputError, match="no JSON"):
        read_truth(file)
    file.write_text(json.dumps({"characters": [{"label": "a"}]}))
    with pytest.raises(InputError, match="label and box"):
        read_truth(file)
    with pytest.raises(InputError, match="no pages"):
        read_result(file)
    file.write_text(json.dumps({"pages": [{"characters": [{"class": 3, "box": [0, 0, 5, 5]}]}]}))
    assert read_result(file) == [Mark("3", (0, 0, 5, 5))]
    with pytest.raises(UsageError, match="--page 1"):
        read_result(file, 1)
