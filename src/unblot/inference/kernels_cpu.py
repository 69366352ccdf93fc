"""The inner loops on a CPU, compiled by numba.

One thread owns each number written, so results never depend on timing. Where a pattern is shifted beyond the last
column, patches come with their first columns repeated at the end: its row is then one run of P2 F numbers in memory.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import torch
from jaxtyping import Float, Int
from numba import types
from numba.extending import overload
from torch import Tensor

from unblot.inference.batch import Batch, Moments, States, dense_table
from unblot.model.likelihood import NEVER, Terms

# The data was checked, so there is no NaN to keep; and a division that may raise cannot become a vector instruction.
FAST = {"fastmath": {"contract", "reassoc", "nsz", "arcp", "nnan", "ninf"}, "error_model": "numpy"}

TOGETHER = 128  # states of one class that one thread looks at row after row

_f32 = np.float32
_LOG2E = _f32(1 / math.log(2))
_LN2_HIGH = _f32(0.693359375)
_LN2_LOW = _f32(math.log(2) - 0.693359375)


@numba.njit(inline="always")
def _exp_of_negative_32(x):
    """exp(x) for x <= 0: 2^k times a polynomial of degree 7 in the remainder; relative error under 2e-7."""
    x = max(x, _f32(-87.0))
    k = _f32(np.floor(x * _LOG2E + _f32(0.5)))
    r = x - k * _LN2_HIGH - k * _LN2_LOW
    p = _f32(1 / 5040)
    p = p * r + _f32(1 / 720)
    p = p * r + _f32(1 / 120)
    p = p * r + _f32(1 / 24)
    p = p * r + _f32(1 / 6)
    p = p * r + _f32(1 / 2)
    p = p * r + _f32(1)
    p = p * r + _f32(1)
    return p * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)


def _softplus_32(z):
    """max(z, 0) + log(1 + e), e = exp(-|z|), by the series of atanh(e / (2 + e)); absolute error under 5e-7."""
    e = _exp_of_negative_32(-abs(z))
    s = e / (_f32(2) + e)
    t = s * s
    p = _f32(1 / 11)
    p = p * t + _f32(1 / 9)
    p = p * t + _f32(1 / 7)
    p = p * t + _f32(1 / 5)
    p = p * t + _f32(1 / 3)
    p = p * t + _f32(1)
    return max(z, _f32(0)) + _f32(2) * s * p


def _sigmoid_32(z):
    e = _exp_of_negative_32(-abs(z))
    return (_f32(1) if z >= 0 else e) / (_f32(1) + e)


def _softplus_64(z):
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


def _sigmoid_64(z):
    e = math.exp(-abs(z))
    return (1.0 if z >= 0 else e) / (1.0 + e)


def _softplus(z):
    """log(1 + exp(z)), in the precision of z."""
    raise NotImplementedError("compiled code only")


def _sigmoid(z):
    """1 / (1 + exp(-z)), in the precision of z."""
    raise NotImplementedError("compiled code only")


@overload(_softplus, inline="always")
def _choose_softplus(z):
    return _softplus_32 if z == types.float32 else _softplus_64


@overload(_sigmoid, inline="always")
def _choose_sigmoid(z):
    return _sigmoid_32 if z == types.float32 else _sigmoid_64


@numba.njit(**FAST)
def _softplus_row(row, offset, log_H):
    for j in range(len(row)):
        row[j] = _softplus(row[j] + offset - log_H[j])


@numba.njit(**FAST)
def _add_row(total, row):
    for j in range(len(row)):
        total[j] += row[j]


@numba.njit(**FAST)
def _distance(y, W, precision):
    total = y.dtype.type(0)
    for f in range(len(y)):
        delta = y[f] - W[f]
        total += precision[f] * delta * delta
    return total


@numba.njit(**FAST)
def _row_logits(y, log_H, W, precision, offset, z):
    """z_j = r_j(y_j) + logit a_j along a row of the pattern."""
    F = len(y) // len(z)
    for j in range(len(z)):
        if F == 1:  # without a slice, the loop becomes vector instructions
            distance = precision[j] * (y[j] - W[j]) ** 2
        else:
            run = slice(j * F, (j + 1) * F)
            distance = _distance(y[run], W[run], precision[run])
        z[j] = offset[j] - log_H[j] - y.dtype.type(0.5) * distance  # Eq. 4


@numba.njit(**FAST)
def _softplus_sum(z):
    total = z.dtype.type(0)
    for j in range(len(z)):
        total += _softplus(z[j])
    return total


@numba.njit(**FAST)
def _weigh(z, q, s0):
    """Turn z into q p(m = 1 | Y, c, x), and add it to s0."""
    for j in range(len(z)):
        z[j] = q * _sigmoid(z[j])  # Eq. 10
        s0[j] += z[j]


@numba.njit(**FAST)
def _add_moments(y, W, weight, s1, s2):
    for k in range(len(y)):
        delta = y[k] - W[k]
        moment = weight[k] * delta
        s1[k] += moment
        s2[k] += moment * delta


@numba.njit(parallel=True, cache=True, **FAST)
def _shifted_loop(Z, offset, log_H, i1, i2, out):
    """out[c, x] = sum_i softplus(Z[c, i, i + x] + offset[c, i] - log_H[i + x]); Z is overwritten."""
    C, L, D1, D2 = Z.shape
    flat, flat_log_H = Z.reshape(C * L, D1 * D2), log_H.reshape(D1 * D2)
    for row in numba.prange(C * L):
        _softplus_row(flat[row], offset[row // L, row % L], flat_log_H)
    for row in numba.prange(C * D1):
        c, x1 = row // D1, row % D1
        total = out[c, x1]
        total[:] = 0
        for i in range(L):
            shifted = Z[c, i, (x1 + i1[c, i]) % D1]
            cut = i2[c, i]
            _add_row(total[: D2 - cut], shifted[cut:])
            _add_row(total[D2 - cut :], shifted[:cut])


@numba.njit(parallel=True, cache=True, **FAST)
def _states_loop(y, log_H, W, precision, offset, first, last, start, n_of, c_of, x1, x2, out):
    """out[s] = sum_i softplus(z_i); the states from one start to the next are of one patch and one class.

    Only columns first[c, i1] to last[c, i1] have a mask.
    """
    D1, (_, P1, P2) = y.shape[1], offset.shape
    F = W.shape[2] // P2
    for group in numba.prange(len(start) - 1):
        n, c = n_of[start[group]], c_of[start[group]]
        z = np.empty(P2, y.dtype)
        for s in range(start[group], start[group + 1]):
            out[s] = 0
        for i1 in range(P1):
            a, b = first[c, i1], last[c, i1]
            if a >= b:
                continue
            of_row = slice(a * F, b * F)
            for s in range(start[group], start[group + 1]):
                d1, left, right = (x1[s] + i1) % D1, x2[s] + a, x2[s] + b
                row = y[n, d1][left * F : right * F]
                tables = W[c, i1][of_row], precision[c, i1][of_row], offset[c, i1][a:b]
                _row_logits(row, log_H[n, d1][left:right], *tables, z[a:b])
                out[s] += _softplus_sum(z[a:b])


@numba.njit(parallel=True, cache=True, **FAST)
def _moments_loop(y, log_H, W, precision, offset, n, c, x1, x2, q, s0, s1, s2):
    """Add q p(m_i = 1) (1, y - w, (y - w)^2) of every state to s0, s1, s2, state after state."""
    D1, (_, P1, P2) = y.shape[1], offset.shape
    F = W.shape[2] // P2
    for i1 in numba.prange(P1):
        z, weight = np.empty(P2, y.dtype), np.empty(P2 * F, y.dtype)
        for s in range(len(n)):
            k, d1 = c[s], (x1[s] + i1) % D1
            row = y[n[s], d1][x2[s] * F : (x2[s] + P2) * F]
            _row_logits(row, log_H[n[s], d1][x2[s] : x2[s] + P2], W[k, i1], precision[k, i1], offset[k, i1], z)
            _weigh(z, q[s], s0[k, i1])
            for j in range(P2):
                weight[j * F : (j + 1) * F] = z[j]
            _add_moments(row, W[k, i1], weight, s1[k, i1], s2[k, i1])


def sum_dense(batch: Batch, terms: Terms, features: Int[Tensor, "C L"]) -> Float[Tensor, "B C positions"]:
    """Sum softplus(z_i) over the pattern positions `features` of every class, at every shift of every patch."""
    (C, L), (D1, D2) = features.shape, terms.D
    table = dense_table(terms, features)
    linear = table.linear.reshape(C * L, -1)
    i1, i2 = (features // terms.P[1]).numpy(), (features % terms.P[1]).numpy()
    out = torch.empty(batch.N, C, D1, D2, dtype=linear.dtype)
    products = torch.empty(C * L, D1 * D2, dtype=linear.dtype)
    for n in range(batch.N):
        v = (batch.Y[n] - table.centre).reshape(D1 * D2, -1).T  # [F, D]
        torch.mm(linear, torch.cat([v * v, v]), out=products)
        Z = products.numpy().reshape(C, L, D1, D2)
        _shifted_loop(Z, table.offset.numpy(), batch.log_H[n].numpy(), i1, i2, out[n].numpy())
    return out.reshape(batch.N, C, D1 * D2)


def sum_states(batch: Batch, terms: Terms, states: States) -> Float[Tensor, " S"]:
    """Sum softplus(z_i) over the whole pattern, for the given states alone."""
    n, c, count = states.n.numpy(), states.c.numpy(), len(states.n)
    others = np.flatnonzero(np.diff(n) | np.diff(c)) + 1
    start = np.unique(np.concatenate([np.arange(0, count, TOGETHER), others, [0, count]]))
    out = torch.empty(count, dtype=torch.float64)
    _states_loop(*_arrays(batch, terms, states), *_spans(terms), start, n, c, *_shift(states, terms), out.numpy())
    return out.to(terms.W.dtype)


def _spans(terms: Terms) -> tuple[np.ndarray, np.ndarray]:
    """Give the first column of each pattern row that has a mask, and the one behind the last."""
    there = (terms.offset > NEVER).reshape(terms.C, *terms.P).numpy()
    behind = terms.P[1] - there[..., ::-1].argmax(2)
    return there.argmax(2), np.where(there.any(2), behind, 0)


def sum_moments(batch: Batch, terms: Terms, states: States, q: Float[Tensor, " S"]) -> Moments:
    """Sum the mask posterior's moments over the given states, weighted with q."""
    (P1, P2), F = terms.P, terms.W.shape[2]
    s0 = np.zeros((terms.C, P1, P2))
    s1, s2 = (np.zeros((terms.C, P1, P2 * F)) for _ in range(2))
    n, c = states.n.numpy(), states.c.numpy()
    _moments_loop(*_arrays(batch, terms, states), n, c, *_shift(states, terms), q.numpy(), s0, s1, s2)
    P = P1 * P2
    return Moments(*(torch.from_numpy(s).reshape(terms.C, P, *rest) for s, rest in ((s0, ()), (s1, (F,)), (s2, (F,)))))


def _arrays(batch: Batch, terms: Terms, states: States) -> tuple[np.ndarray, ...]:
    """Give patches, with wrapped columns where a state needs them, and the tables a pattern row at a time."""
    (P1, P2), F = terms.P, terms.W.shape[2]
    Y, log_H = batch.Y, batch.log_H
    if len(states.x) and int((states.x % terms.D[1]).max()) + P2 > terms.D[1]:
        Y, log_H = (torch.cat([v, v[:, :, : P2 - 1]], 2) for v in (Y, log_H))
    rows = (t.reshape(terms.C, P1, P2 * F).numpy() for t in (terms.W, terms.precision))
    y = Y.reshape(batch.N, terms.D[0], -1)
    return y.numpy(), log_H.numpy(), *rows, terms.offset.reshape(terms.C, P1, P2).numpy()


def _shift(states: States, terms: Terms) -> tuple[np.ndarray, np.ndarray]:
    return (states.x // terms.D[1]).numpy(), (states.x % terms.D[1]).numpy()
