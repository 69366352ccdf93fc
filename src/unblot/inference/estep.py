"""The E-step: posterior over states, free energy, and the sums the M-step needs (Eqs. 7-12)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.inference.batch import Batch, Moments, States
from unblot.inference.kernels import kernels_for
from unblot.inference.truncation import Truncation, log_score, reliable_features, select
from unblot.model.likelihood import Terms


@dataclass(frozen=True)
class Posterior:
    """q_n(c, x) on K_n, as many states for each patch, and log sum_{K_n} p(c, x, Y) relative to the background.

    The masks need no place here: given (c, x) they are independent (Eq. 9), and the kernels sum them out.
    """

    states: States
    q: Float[Tensor, "B size"]
    log_evidence: Float[Tensor, " B"]


@dataclass(frozen=True)
class Stats:
    """Additive statistics of some patches: what the M-step consumes, and their part of the free energy."""

    N: int
    free_energy: float
    responsibility: Float[Tensor, " C"]
    moments: Moments

    def __add__(self, other: Stats) -> Stats:
        """Join the statistics of two sets of patches."""
        mine, yours = self.moments, other.moments
        return Stats(
            self.N + other.N,
            self.free_energy + other.free_energy,
            self.responsibility + other.responsibility,
            Moments(mine.s0 + yours.s0, mine.s1 + yours.s1, mine.s2 + yours.s2),
        )


def posterior(batch: Batch, terms: Terms, truncation: Truncation) -> Posterior:
    """Compute the posterior over class and position, on all of them or on K_n."""
    if truncation.K == 1:
        everything = torch.arange(terms.W.shape[1], device=batch.Y.device).expand(terms.C, -1)
        joint = log_score(batch, terms, everything)  # with all features, Eq. 13 is Eq. 11
        return _normalised(select(joint, 1.0), joint.reshape(batch.N, -1))
    return posterior_on(
        batch, terms, select(log_score(batch, terms, reliable_features(terms, truncation.lam)), truncation.K)
    )


def posterior_on(batch: Batch, terms: Terms, states: States) -> Posterior:
    """Compute the posterior on given states, as many for each patch."""
    sums = kernels_for(batch.Y.device).sum_states(batch, terms, states)
    joint = sums + (terms.prior + terms.absent.sum(1))[states.c]  # Eq. 11
    return _normalised(states, joint.reshape(batch.N, -1))


def _normalised(states: States, joint: Float[Tensor, "B size"]) -> Posterior:
    log_evidence = joint.logsumexp(1)
    return Posterior(states, (joint - log_evidence[:, None]).exp(), log_evidence)  # Eq. 12


def statistics(batch: Batch, terms: Terms, found: Posterior) -> Stats:
    """Sum what the M-step needs. States whose weight is below the precision of the sums are not visited."""
    q, states = found.q.reshape(-1), found.states
    responsibility = torch.stack(
        [torch.where(states.c == c, q, 0).double().reshape(found.q.shape).sum(1).sum() for c in range(terms.C)]
    )
    heavy = (q > torch.finfo(q.dtype).eps / 100).nonzero()[:, 0]
    moments = kernels_for(batch.Y.device).sum_moments(batch, terms, states[heavy], q[heavy])
    evidence = found.log_evidence.double().sum() + batch.log_H.double().sum()  # Eq. 7, at its maximum over q on K_n
    return Stats(batch.N, float(evidence) / terms.beta, responsibility, moments)


def estep(batch: Batch, terms: Terms, truncation: Truncation) -> Stats:
    """Turn a batch into additive statistics, on the device of `terms`."""
    batch = batch.to(terms.W.device)
    tempered = Batch(batch.Y, terms.beta * batch.log_H)
    return statistics(tempered, terms, posterior(tempered, terms, truncation))
