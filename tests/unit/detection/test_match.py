from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.oracle.naive import Naive
from tests.worlds import random_data, random_theta

from unblot.detection.match import match
from unblot.detection.quality import GAMMA, quality
from unblot.inference.truncation import EXACT, Truncation
from unblot.learning.em import make_batch
from unblot.model.likelihood import terms

P, D = (2, 2), (3, 4)


@pytest.mark.parametrize("truncation", [EXACT, Truncation(100, 0.3)], ids=str)
def test_match_is_the_enumerated_maximum_with_its_quality(truncation, device):
    theta = random_theta(5, P=P)
    Y, background, _ = random_data(5, theta, N=6, D=D)
    naive = Naive(theta, background, D)
    batch = make_batch(Y.to(device), background.to(device))
    found = match(batch, terms(theta.to(device), D), truncation)
    for n, patch in enumerate(Y.numpy()):
        table = naive.table(patch)
        sums = {state: sum(p for _, p in rows) for state, rows in table.items()}
        c, x = max(sums, key=sums.__getitem__)
        assert (int(found.c[n]), tuple(found.x[n].tolist())) == (c, x)
        assert bool(found.visible[n]) == (x[0] <= D[0] - P[0] and x[1] <= D[1] - P[1])
        masks = np.zeros(P)
        for m, p in table[c, x]:
            for i in naive.pattern:
                masks[i] += m[i] * p / sums[c, x]
        A = naive.A[c]
        expected = 1 - (A**GAMMA * (A - masks) ** 2).sum() / (A**GAMMA).sum()
        assert float(found.quality[n]) == pytest.approx(expected, abs=1e-9)
        if truncation is EXACT:
            for k in range(theta.C):
                of_class = sum(p for (c, _), p in sums.items() if c == k)
                assert float(found.posterior[n, k]) == pytest.approx(of_class / sum(sums.values()))


def test_quality_lies_between_nothing_and_perfect():
    g = torch.Generator().manual_seed(0)
    A, mask = (torch.rand(50, 30, generator=g) for _ in range(2))
    Q = quality(A, mask)
    assert Q.min() >= 0
    assert Q.max() <= 1
    torch.testing.assert_close(quality(A, A), torch.ones(50))
    binary = (A > 0.5).float()
    half = binary.clone()
    half[:, ::2] = 0
    torch.testing.assert_close(quality(binary, half), (half.sum(1) / binary.sum(1)))
