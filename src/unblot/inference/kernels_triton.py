"""The sum over single states on a GPU: windows are read where they lie instead of being gathered into memory first."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from unblot.inference.batch import Batch, States
from unblot.model.likelihood import Terms

BLOCK = 32  # pattern positions a program looks at together


@triton.jit
def _sum_state(y, log_H, W, precision, offset, n, c, x, out, D1, D2, P2, P, F, TILE: tl.constexpr, BLOCK: tl.constexpr):
    state = tl.program_id(0)
    patch, k, shift = tl.load(n + state), tl.load(c + state), tl.load(x + state)
    features = tl.arange(0, TILE)
    total = tl.zeros([BLOCK], dtype=y.dtype.element_ty)
    for start in range(0, P, BLOCK):
        i = start + tl.arange(0, BLOCK)
        inside = i < P
        d1, d2 = (shift // D2 + i // P2) % D1, (shift % D2 + i % P2) % D2
        place, row = (patch * D1 + d1) * D2 + d2, k * P + i
        both = inside[:, None] & (features < F)[None, :]
        at_place, at_row = place[:, None] * F + features[None, :], row[:, None] * F + features[None, :]
        delta = tl.load(y + at_place, mask=both, other=0) - tl.load(W + at_row, mask=both, other=0)
        distance = tl.sum(tl.load(precision + at_row, mask=both, other=0) * delta * delta, 1)
        z = tl.load(offset + row, mask=inside, other=0) - tl.load(log_H + place, mask=inside, other=0) - 0.5 * distance
        softplus = tl.maximum(z, 0) + tl.log(1 + tl.exp(-tl.abs(z)))
        total += tl.where(inside, softplus, 0)
    tl.store(out + state, tl.sum(total, 0))


def sum_states(batch: Batch, terms: Terms, states: States) -> Float[Tensor, " S"]:
    """Sum softplus(z_i) over the whole pattern, for the given states alone."""
    out = torch.empty(len(states.n), dtype=batch.Y.dtype, device=batch.Y.device)
    (_, P, F), (D1, D2) = terms.W.shape, terms.D
    tensors = (batch.Y, batch.log_H, terms.W, terms.precision, terms.offset, states.n, states.c, states.x)
    tile = triton.next_power_of_2(F)
    with torch.cuda.device(batch.Y.device):
        _sum_state[(len(states.n),)](
            *(tensor.contiguous() for tensor in tensors), out, D1, D2, terms.P[1], P, F, TILE=tile, BLOCK=BLOCK
        )
    return out
