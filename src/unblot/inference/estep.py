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
    """q_n(c, x) on K_n, as many states for each patch, and log sum_{K_n} p(c, x, Y) relative to the background."""

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
        joint = log_score(batch, terms, everything)  # Eq. 11
        states = select(joint, 1.0)
    else:
        states = select(log_score(batch, terms, reliable_features(terms, truncation.lam)), truncation.K)
        constant = terms.prior + terms.absent.sum(1)
        joint = constant[states.c] + kernels_for(batch.Y.device).sum_states(batch, terms, states)  # Eq. 11
    joint = joint.reshape(batch.N, -1)
    log_evidence = joint.logsumexp(1)
    return Posterior(states, (joint - log_evidence[:, None]).exp(), log_evidence)  # Eq. 12


def estep(batch: Batch, terms: Terms, truncation: Truncation) -> Stats:
    """Sum the statistics of a batch. States whose weight is below the precision of the sums are not visited."""
    batch = Batch(batch.Y, terms.beta * batch.log_H)
    found = posterior(batch, terms, truncation)
    q = found.q.reshape(-1)
    responsibility = torch.zeros(batch.N, terms.C, dtype=torch.float64, device=q.device)
    for c in range(terms.C):
        responsibility[:, c] = torch.where(found.states.c == c, q, 0).reshape(found.q.shape).sum(1)
    heavy = (q > torch.finfo(q.dtype).eps / 100).nonzero()[:, 0]
    states = States(found.states.n[heavy], found.states.c[heavy], found.states.x[heavy])
    moments = kernels_for(batch.Y.device).sum_moments(batch, terms, states, q[heavy])
    evidence = found.log_evidence.double().sum() + batch.log_H.double().sum()  # Eq. 7, at its maximum over q on K_n
    return Stats(batch.N, float(evidence) / terms.beta, responsibility.sum(0), moments)
