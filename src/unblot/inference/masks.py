"""The mask posterior of single states (Eq. 10)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.inference.batch import Batch, States
from unblot.inference.kernels_torch import windows
from unblot.model.likelihood import Terms


def mask_posterior(batch: Batch, terms: Terms, states: States) -> Float[Tensor, "S P"]:
    """Give p(m_i = 1 | Y, c, x) at every position of the pattern."""
    mask = torch.empty(len(states.n), terms.W.shape[1], dtype=batch.Y.dtype, device=batch.Y.device)
    for _, members, z, _ in windows(batch, terms, states):
        mask[members] = torch.sigmoid(z)  # Eq. 10
    return mask
