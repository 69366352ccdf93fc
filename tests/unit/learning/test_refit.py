from __future__ import annotations

import torch
from tests.worlds import random_data, random_theta

from unblot.inference.truncation import EXACT
from unblot.learning.em import learn
from unblot.learning.refit import refit


def test_through_the_same_bank_it_is_one_more_step_of_em():
    theta = random_theta(5, C=3, P=(3, 4), dtype=torch.float32)
    Y, background, _ = random_data(5, theta, N=40, D=(6, 7))
    step = next(learn(Y, theta, background, EXACT, play=0.3))
    again, same = refit(Y, theta, background, Y, EXACT, 0.3)
    for name in ("W", "Phi", "A", "pi"):
        torch.testing.assert_close(getattr(again, name), getattr(step.theta, name), atol=1e-2, rtol=0)
    torch.testing.assert_close(same.log_prob(Y), background.log_prob(Y))


def test_patterns_follow_their_patches_into_other_features():
    theta = random_theta(6, C=2, P=(3, 3), dtype=torch.float32)
    Y, background, _ = random_data(6, theta, N=60, D=(6, 6))
    one, _ = refit(Y, theta, background, Y, EXACT, 0.0)
    other, _ = refit(Y, theta, background, 3 * Y.flip(3) + 1, EXACT, 0.0)
    torch.testing.assert_close(other.W, 3 * one.W.flip(3) + 1, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(other.A, one.A)
