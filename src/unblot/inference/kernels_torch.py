"""The inner loops as tensor operations, for CUDA; they run on any device and give what `kernels_cpu` gives.

Every sum is a matrix product or a reduction in fixed order, never an atomic addition.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import torch
import torch.nn.functional as nn
from jaxtyping import Float, Int
from torch import Tensor

from unblot.inference.batch import Batch, Moments, States, dense_table
from unblot.model.likelihood import Terms, shifted

CHUNK = 1 << 27  # numbers in the largest temporary


def sum_dense(batch: Batch, terms: Terms, features: Int[Tensor, "C L"]) -> Float[Tensor, "B C positions"]:
    """Sum softplus(z_i) over the pattern positions `features` of every class, at every shift of every patch."""
    positions, device = terms.D[0] * terms.D[1], batch.Y.device
    table = dense_table(terms, features)
    v = (batch.Y - table.centre).reshape(batch.N, positions, -1).mT  # [B, F, D]
    squares_and_values = torch.cat([v * v, v], 1)
    log_H = batch.log_H.reshape(batch.N, 1, positions)
    place = shifted(terms.P, terms.D, torch.arange(positions, device=device)).T[features]  # [C, L, D]
    out = torch.zeros(batch.N, terms.C, positions, dtype=batch.Y.dtype, device=device)
    step = max(1, CHUNK // (batch.N * positions))
    for c in range(terms.C):
        for l in range(0, features.shape[1], step):
            Z = table.linear[c, l : l + step] @ squares_and_values  # [B, l, D]
            offset, index = table.offset[c, l : l + step], place[c, l : l + step]
            if _triton(batch.Y):
                from unblot.inference import kernels_triton

                kernels_triton.add_shifted(Z, offset, log_H, index, out[:, c])
            else:
                Z = nn.softplus(Z.add_(offset[:, None]).sub_(log_H))
                out[:, c] += Z.gather(2, index.expand(batch.N, -1, -1)).sum(1)
    return out


def _triton(Y: Tensor) -> bool:
    return Y.is_cuda and find_spec("triton") is not None


def sum_states(batch: Batch, terms: Terms, states: States) -> Float[Tensor, " S"]:
    """Sum softplus(z_i) over the whole pattern, for the given states alone."""
    if _triton(batch.Y):
        from unblot.inference import kernels_triton

        return kernels_triton.sum_states(batch, terms, states)
    out = torch.empty(len(states.n), dtype=batch.Y.dtype, device=batch.Y.device)
    for _, members, z, _ in windows(batch, terms, states):
        out[members] = nn.softplus(z).sum(1)
    return out


def sum_moments(batch: Batch, terms: Terms, states: States, q: Float[Tensor, " S"]) -> Moments:
    """Sum the mask posterior's moments over the given states, weighted with q."""
    if _triton(batch.Y):
        from unblot.inference import kernels_triton

        return kernels_triton.sum_moments(batch, terms, states, q)
    C, P, F = terms.W.shape
    device = batch.Y.device
    s0 = torch.zeros(C, P, dtype=torch.float64, device=device)
    s1, s2 = (torch.zeros(C, P, F, dtype=torch.float64, device=device) for _ in range(2))
    for c, members, z, delta in windows(batch, terms, states):
        weight = q[members, None] * torch.sigmoid(z)  # Eq. 10
        s0[c] += weight.sum(0)
        s1[c] += torch.einsum("sp,spf->pf", weight, delta)
        s2[c] += torch.einsum("sp,spf->pf", weight, delta.square_())
    return Moments(s0, s1, s2)


def windows(
    batch: Batch, terms: Terms, states: States
) -> Iterator[tuple[int, Int[Tensor, " s"], Float[Tensor, "s P"], Float[Tensor, "s P F"]]]:
    """Go through the states class by class: the class, the states' numbers, z, and y - w under the pattern."""
    positions, (_, P, F) = terms.D[0] * terms.D[1], terms.W.shape
    different, which = states.x.unique(return_inverse=True)
    table = shifted(terms.P, terms.D, different)
    y, log_H = batch.Y.reshape(batch.N * positions, F), batch.log_H.reshape(-1)
    for c in range(terms.C):
        for members in (states.c == c).nonzero()[:, 0].split(max(1, CHUNK // (P * F))):
            place = states.n[members, None] * positions + table[which[members]]  # [s, P]
            delta = y[place] - terms.W[c]
            z = terms.offset[c] - log_H[place] - 0.5 * (delta.square() * terms.precision[c]).sum(-1)  # Eq. 4
            yield c, members, z, delta
