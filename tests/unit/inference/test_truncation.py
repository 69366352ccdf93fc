from __future__ import annotations

import torch
from tests.worlds import random_data, random_theta

from unblot.inference import estep, kernels_cpu
from unblot.inference.truncation import EXACT, Truncation, reliable_features
from unblot.model.likelihood import terms


def test_reliable_features_have_the_largest_masks_and_ties_keep_their_order():
    theta = random_theta(0, C=1, P=(2, 3))
    theta.A[0] = torch.tensor([[0.5, 0.9, 0.5], [0.9, 0.1, 0.5]], dtype=torch.float64)
    assert reliable_features(terms(theta, (3, 3)), 3).tolist() == [[0, 1, 3]]
    assert reliable_features(terms(theta, (3, 3)), 100).tolist() == [list(range(6))]


def test_truncation_evaluates_the_whole_pattern_on_the_chosen_states_alone(monkeypatch):
    """The work is counted where it is done: pattern positions times states handed to the loops."""
    theta = random_theta(0, C=3, P=(4, 4))
    _, _, batch = random_data(0, theta, N=6, D=(6, 7))
    work = {}

    def counted(name, evaluate, count):
        def run(*arguments):
            work[name] = work.get(name, 0) + count(*arguments)
            return evaluate(*arguments)

        return run

    class Counting:
        sum_dense = staticmethod(
            counted("dense", kernels_cpu.sum_dense, lambda batch, terms, features: batch.N * 42 * features.numel())
        )
        sum_states = staticmethod(
            counted("states", kernels_cpu.sum_states, lambda batch, terms, states: len(states.n) * 16)
        )
        sum_moments = staticmethod(kernels_cpu.sum_moments)

    for module in ("unblot.inference.estep", "unblot.inference.truncation"):
        monkeypatch.setattr(f"{module}.kernels_for", lambda _: Counting)
    estep.estep(batch, terms(theta, (6, 7)), Truncation(lam=2, K=0.05))
    assert work == {"dense": 6 * 42 * 3 * 2, "states": 6 * round(0.05 * 3 * 42) * 16}
    work.clear()
    estep.estep(batch, terms(theta, (6, 7)), EXACT)
    assert work == {"dense": 6 * 42 * 3 * 16}
