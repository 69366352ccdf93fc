from __future__ import annotations

import pytest
import torch

from unblot.errors import InputError
from unblot.patches import corners, cut, to_pixels


def test_patches_cover_the_map_and_lead_back_to_it():
    features = torch.arange(23 * 31 * 2.0).reshape(23, 31, 2)
    places = corners((23, 31), (6, 7), (4, 5))
    patches = cut(features, places, (6, 7))
    covered = torch.zeros(23, 31, dtype=torch.bool)
    for n, (top, left) in enumerate(places.tolist()):
        covered[top : top + 6, left : left + 7] = True
        assert torch.equal(patches[n], features[top : top + 6, left : left + 7])
    assert covered.all()
    n, x = torch.tensor([0, 3, len(patches) - 1]), torch.tensor([[0, 0], [2, 5], [5, 6]])
    place = places[n] + x
    for k in range(3):
        assert torch.equal(features[tuple(place[k])], patches[n[k]][tuple(x[k])])
    assert to_pixels(place)[2].tolist() == [22 * 3, 30 * 3]


def test_every_pattern_is_whole_in_some_patch():
    D, P, interval = (6, 7), (3, 4), (4, 4)
    places = corners((23, 31), D, interval)
    for top in range(23 - P[0] + 1):
        for left in range(31 - P[1] + 1):
            inside = (places <= torch.tensor([top, left])) & (
                places + torch.tensor(D) >= torch.tensor([top + P[0], left + P[1]])
            )
            assert inside.all(1).any()


def test_a_page_smaller_than_a_patch_is_refused():
    with pytest.raises(InputError, match="too small"):
        corners((5, 31), (6, 7), (4, 5))
