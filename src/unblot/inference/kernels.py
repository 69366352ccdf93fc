"""One name for the inner loops of every device."""

from __future__ import annotations

from typing import Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unblot.inference.batch import Batch, Moments, States
from unblot.model.likelihood import Terms


class Kernels(Protocol):
    """The three sums that take all the time, z_i = r_i(y_{i+x}) + logit a_i being what they sum over."""

    def sum_dense(self, batch: Batch, terms: Terms, features: Int[Tensor, "C L"]) -> Float[Tensor, "B C positions"]:
        """Sum softplus(z_i) over some pattern positions, at every shift of every patch."""

    def sum_states(self, batch: Batch, terms: Terms, states: States) -> Float[Tensor, " S"]:
        """Sum softplus(z_i) over the whole pattern, for the given states alone."""

    def sum_moments(self, batch: Batch, terms: Terms, states: States, q: Float[Tensor, " S"]) -> Moments:
        """Sum the mask posterior's moments over the given states, weighted with q."""


def kernels_for(device: torch.device) -> Kernels:
    """Give the module that suits the device."""
    if device.type == "cpu":
        from unblot.inference import kernels_cpu

        return kernels_cpu
    from unblot.inference import kernels_torch

    return kernels_torch
