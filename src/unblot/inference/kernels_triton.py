"""Sums on a GPU that read numbers where they lie instead of gathering them into memory first."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from unblot.inference.batch import Batch, Moments, States
from unblot.model.likelihood import Terms

BLOCK = 32  # pattern positions a program looks at together
SHIFTS = 256  # shifts a program sums for together
FEW = 8  # pattern positions whose moments a program sums


@triton.jit
def _softplus(z):
    return tl.maximum(z, 0) + tl.log(1 + tl.exp(-tl.abs(z)))


@triton.jit
def _add_shifted(Z, offset, log_H, index, out, out_stride, L, D, BLOCK: tl.constexpr):
    patch = tl.program_id(0).to(tl.int64)
    x = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = x < D
    total = tl.zeros([BLOCK], dtype=Z.dtype.element_ty)
    for l in range(L):
        d = tl.load(index + l * D + x, mask=inside, other=0)
        z = tl.load(Z + (patch * L + l) * D + d, mask=inside, other=0)
        z += tl.load(offset + l) - tl.load(log_H + patch * D + d, mask=inside, other=0)
        total += _softplus(z)
    at = out + patch * out_stride + x
    tl.store(at, tl.load(at, mask=inside, other=0) + total, mask=inside)


def add_shifted(
    Z: Float[Tensor, "B L D"],
    offset: Float[Tensor, " L"],
    log_H: Float[Tensor, "B 1 D"],
    index: Int[Tensor, "L D"],
    out: Float[Tensor, "B D"],
) -> None:
    """Add sum_l softplus(Z[b, l, d] + offset[l] - log_H[b, d]) at d = index[l, x] to out[b, x]."""
    B, L, D = Z.shape
    with torch.cuda.device(Z.device):
        _add_shifted[(B, triton.cdiv(D, SHIFTS))](
            Z, offset.contiguous(), log_H.contiguous(), index.contiguous(), out, out.stride(0), L, D, BLOCK=SHIFTS
        )


@triton.jit
def _logits(y, log_H, W, precision, offset, patch, c, shift, i, D1: tl.constexpr, D2: tl.constexpr, P2: tl.constexpr,
            P: tl.constexpr, F: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """z_i of one state at the pattern positions i, and y - w there; sizes are constants, so that nothing is divided."""
    features = tl.arange(0, TILE)
    inside = i < P
    both = inside[:, None] & (features < F)[None, :]
    d1, d2 = (shift // D2 + i // P2) % D1, (shift % D2 + i % P2) % D2
    place, row = (patch * D1 + d1) * D2 + d2, c * P + i
    at_place, at_row = place[:, None] * F + features[None, :], row[:, None] * F + features[None, :]
    delta = tl.load(y + at_place, mask=both, other=0) - tl.load(W + at_row, mask=both, other=0)
    distance = tl.sum(tl.load(precision + at_row, mask=both, other=0) * delta * delta, 1)
    z = tl.load(offset + row, mask=inside, other=0) - tl.load(log_H + place, mask=inside, other=0) - 0.5 * distance
    return z, delta


@triton.jit
def _sum_state(y, log_H, W, precision, offset, n, c, x, out, D1: tl.constexpr, D2: tl.constexpr, P2: tl.constexpr,
               P: tl.constexpr, F: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    state = tl.program_id(0)
    patch, k, shift = tl.load(n + state), tl.load(c + state), tl.load(x + state)
    total = tl.zeros([BLOCK], dtype=y.dtype.element_ty)
    for start in range(0, P, BLOCK):
        i = start + tl.arange(0, BLOCK)
        z, _ = _logits(y, log_H, W, precision, offset, patch, k, shift, i, D1, D2, P2, P, F, TILE)
        total += tl.where(i < P, _softplus(z), 0)
    tl.store(out + state, tl.sum(total, 0))


def sum_states(batch: Batch, terms: Terms, states: States) -> Float[Tensor, " S"]:
    """Sum softplus(z_i) over the whole pattern, for the given states alone."""
    out = torch.empty(len(states.n), dtype=batch.Y.dtype, device=batch.Y.device)
    with torch.cuda.device(batch.Y.device):
        _sum_state[(len(states.n),)](*_tables(batch, terms), *_numbers(states), out, **_sizes(terms), BLOCK=BLOCK)
    return out


@triton.jit
def _sum_moment(y, log_H, W, precision, offset, n, c, x, q, first, s0, s1, s2, D1: tl.constexpr, D2: tl.constexpr,
                P2: tl.constexpr, P: tl.constexpr, F: tl.constexpr, TILE: tl.constexpr, FEW: tl.constexpr):  # fmt: skip
    i, k = tl.program_id(0) * FEW + tl.arange(0, FEW), tl.program_id(1)
    zero, one, two = (tl.zeros([FEW], s0.dtype.element_ty), tl.zeros([FEW, TILE], s0.dtype.element_ty),
                      tl.zeros([FEW, TILE], s0.dtype.element_ty))  # fmt: skip
    for state in range(tl.load(first + k), tl.load(first + k + 1)):
        patch, shift = tl.load(n + state), tl.load(x + state)
        z, delta = _logits(y, log_H, W, precision, offset, patch, k, shift, i, D1, D2, P2, P, F, TILE)
        weight = tl.load(q + state) * tl.sigmoid(z)
        moment = weight[:, None] * delta
        zero += weight
        one += moment
        two += moment * delta
    features = tl.arange(0, TILE)
    both = (i < P)[:, None] & (features < F)[None, :]
    at = (k * P + i)[:, None] * F + features[None, :]
    tl.store(s0 + k * P + i, zero, mask=i < P)
    tl.store(s1 + at, one, mask=both)
    tl.store(s2 + at, two, mask=both)


def sum_moments(batch: Batch, terms: Terms, states: States, q: Float[Tensor, " S"]) -> Moments:
    """Sum the mask posterior's moments over the given states, weighted with q; one program owns each number."""
    C, P, F = terms.W.shape
    order = states.c.argsort(stable=True)
    by_class = States(states.n[order], states.c[order], states.x[order])
    first = torch.searchsorted(by_class.c, torch.arange(C + 1, device=order.device)).int()
    s0 = torch.empty(C, P, dtype=torch.float64, device=order.device)
    s1, s2 = (torch.empty(C, P, F, dtype=torch.float64, device=order.device) for _ in range(2))
    with torch.cuda.device(batch.Y.device):
        _sum_moment[(triton.cdiv(P, FEW), C)](
            *_tables(batch, terms), *_numbers(by_class), q[order], first, s0, s1, s2, **_sizes(terms), FEW=FEW
        )
    return Moments(s0, s1, s2)


def _tables(batch: Batch, terms: Terms) -> list[Tensor]:
    tensors = (batch.Y, batch.log_H, terms.W, terms.precision, terms.offset)
    return [tensor.contiguous() for tensor in tensors]


def _numbers(states: States) -> list[Tensor]:
    return [numbers.int() for numbers in (states.n, states.c, states.x)]


def _sizes(terms: Terms) -> dict[str, int]:
    (_, P, F), (D1, D2) = terms.W.shape, terms.D
    return {"D1": D1, "D2": D2, "P2": terms.P[1], "P": P, "F": F, "TILE": triton.next_power_of_2(F)}
