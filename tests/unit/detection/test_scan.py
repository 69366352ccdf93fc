from __future__ import annotations

import torch
from tests.worlds import random_data, random_theta

from unblot.detection.match import match
from unblot.detection.scan import Patterns, joined, scan, touching
from unblot.inference.truncation import EXACT
from unblot.learning.em import make_batch
from unblot.model.likelihood import terms
from unblot.patches import corners, cut

P, D = (2, 2), (3, 4)


def test_a_scan_sees_what_matching_every_patch_sees():
    theta = random_theta(3, P=P, dtype=torch.float32)
    Y, background, _ = random_data(3, theta, N=1, D=(9, 11))
    places = corners((9, 11), D, (2, 3))
    parts = list(scan(Y[0], places, Patterns(theta, background, D, EXACT)))
    assert parts[-1][0] == len(places)
    seen = joined([part for _, part in parts], theta.C)
    found = match(make_batch(cut(Y[0], places, D), background), terms(theta, D), EXACT)
    assert torch.equal(seen.c, found.c[found.visible])
    assert torch.equal(seen.place, (places + found.x)[found.visible])
    assert torch.equal(seen.quality, found.quality[found.visible])
    torch.testing.assert_close(seen.posterior.sum(1), torch.ones(len(seen.c)), atol=1e-5, rtol=0)


def test_patches_without_ink_are_left_out():
    marked = torch.rand(20, 23, generator=torch.Generator().manual_seed(1)) > 0.97
    places = corners((20, 23), (5, 6), (3, 3))
    kept = {tuple(place) for place in touching(places, (5, 6), marked, 2).tolist()}
    for top, left in places.tolist():
        held = int(marked[top : top + 5, left : left + 6].sum())
        assert ((top, left) in kept) == (held >= 2)


def test_nothing_seen_is_empty():
    assert len(joined([], 4).c) == 0
    assert joined([], 4).posterior.shape == (0, 4)
