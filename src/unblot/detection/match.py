"""The best class and position of each patch, with its quality (Eqs. 15, 16)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unblot.detection.quality import quality
from unblot.inference.batch import Batch, States
from unblot.inference.estep import posterior
from unblot.inference.masks import mask_posterior
from unblot.inference.truncation import Truncation
from unblot.model.likelihood import Terms


@dataclass(frozen=True)
class Matches:
    """One match a patch: class, position of the pattern's first row and column, posteriors of all classes, quality."""

    c: Int[Tensor, " B"]
    x: Int[Tensor, "B 2"]
    posterior: Float[Tensor, "B C"]
    quality: Float[Tensor, " B"]
    visible: Bool[Tensor, " B"]


def match(batch: Batch, terms: Terms, truncation: Truncation) -> Matches:
    """Find (c*, x*) of every patch. A pattern is fully visible when the patch's edge does not cut it."""
    found = posterior(batch, terms, truncation)
    best = found.q.argmax(1)  # Eq. 15
    chosen = torch.arange(batch.N, device=best.device) * found.q.shape[1] + best
    c, flat = found.states.c[chosen], found.states.x[chosen]
    states = States(torch.arange(batch.N, device=best.device), c, flat)
    x = torch.stack([flat // terms.D[1], flat % terms.D[1]], 1)
    room = torch.tensor(terms.D, device=x.device) - torch.tensor(terms.P, device=x.device)
    A = -torch.expm1(terms.absent[c] / terms.beta)
    of_class = found.states.c.reshape(found.q.shape)
    posteriors = torch.stack([torch.where(of_class == k, found.q, 0).sum(1) for k in range(terms.C)], 1)
    return Matches(c, x, posteriors, quality(A, mask_posterior(batch, terms, states)), (x <= room).all(1))
