from __future__ import annotations

import itertools

import numpy as np
import pytest

from unblot.errors import InputError, UsageError
from unblot.synth.dirt import KINDS
from unblot.synth.make import Recipe, make

SMALL = {"width": 600, "height": 500, "size": 40.0}


def test_boxes_hold_the_ink_exactly():
    """Without dirt and grain, every dark pixel lies in a box, and every box is tight."""
    made = make(Recipe(**SMALL, layout="scatter", count=40, noise=0.0, dirt=0.0, turns={"b": 90.0}))
    ink = made.clean.pixels < 120
    covered = np.zeros_like(ink)
    assert len(made.truth) > 25
    for mark in made.truth:
        x0, y0, x1, y1 = (int(side) for side in mark.box)
        covered[y0:y1, x0:x1] = True
        part = made.clean.pixels[y0:y1, x0:x1] < 200
        assert part[:2].any()
        assert part[-2:].any()
        assert part[:, :2].any()
        assert part[:, -2:].any()
    assert not (ink & ~covered).any()


def test_text_is_set_in_order():
    made = make(Recipe(**SMALL, text="so say\nyes babe", dirt=0.0))
    assert made.text.split() == ["so", "say", "yes", "babe"]
    assert "".join(mark.name for mark in made.truth) == "sosayyesbabe"
    first_line = [mark.box for mark in made.truth][:5]
    assert all(a[0] < b[0] for a, b in itertools.pairwise(first_line))


def test_lines_fill_the_page_within_its_margins():
    made = make(Recipe(**SMALL, characters="abc", dirt=0.0))
    assert len(made.truth) > 80
    assert {mark.name for mark in made.truth} == set("abc")
    boxes = np.array([mark.box for mark in made.truth])
    assert boxes.min() > 0
    assert (boxes[:, 2] < 600).all()
    assert (boxes[:, 3] < 500).all()


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_dirt_darkens_the_page_by_itself(kind):
    amount = 300.0 if kind == "rings" else 60.0  # a cup is put down once a large page
    made = make(Recipe(**SMALL, noise=0.0, dirt=amount, kinds=(kind,)))
    darker = made.clean.pixels.astype(int) - made.dirty.pixels
    assert darker.min() >= -1
    assert (darker > 10).mean() > 0.003
    assert make(Recipe(**SMALL, noise=0.0, dirt=60.0, kinds=())).dirty.pixels.tolist() == made.clean.pixels.tolist()


def test_the_same_seed_makes_the_same_page_and_dirt_does_not_move_the_text():
    one, two = (make(Recipe(**SMALL, seed=3)) for _ in range(2))
    assert np.array_equal(one.dirty.pixels, two.dirty.pixels)
    assert make(Recipe(**SMALL, seed=3, dirt=5.0)).truth == one.truth
    assert make(Recipe(**SMALL, seed=4)).truth != one.truth


def test_worn_impressions_differ_and_stay_where_they_belong():
    crisp, worn = (make(Recipe(**SMALL, characters="a", dirt=0.0, noise=0.0, wear=w)) for w in (0.0, 1.0))

    def cut(made, k):
        x0, y0 = (int(side) for side in made.truth[k].box[:2])
        return made.clean.pixels[y0 : y0 + 20, x0 : x0 + 20].astype(int)

    assert np.abs(cut(worn, 3) - cut(worn, 9)).mean() > 8
    assert np.abs(cut(crisp, 3) - cut(crisp, 9)).mean() < 8
    for a, b in zip(crisp.truth, worn.truth, strict=False):
        assert np.abs(np.array(a.box) - np.array(b.box)).max() < 12
    paper = make(Recipe(**SMALL, characters="a", layout="scatter", count=4, dirt=0.0, noise=0.0, wear=1.0)).clean.pixels
    assert (paper > 240).mean() > 0.97


def test_recipes_that_make_no_sense_are_refused():
    for bad, word in (
        ({"characters": " "}, "nothing to write"),
        ({"layout": "circle"}, "--layout"),
        ({"wear": 2.0}, "--wear"),
        ({"kinds": ("mud",)}, "mud"),
        ({"width": 3}, "--width"),
        ({"size": 1.0}, "--size"),
        ({"dirt": -1.0}, "--dirt"),
    ):
        with pytest.raises(UsageError, match=word):
            Recipe(**bad)


def test_a_font_that_cannot_be_read_and_characters_it_lacks(tmp_path):
    (tmp_path / "no.ttf").write_text("no font")
    with pytest.raises(InputError, match="font"):
        make(Recipe(**SMALL, font=tmp_path / "no.ttf"))
