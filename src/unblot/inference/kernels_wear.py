"""The inner loops of reading a whole page, compiled by numba: each candidate, pair and line by itself."""

from __future__ import annotations

import numba
import numpy as np

from unblot.inference.kernels_cpu import FAST
from unblot.model.wear import WAYS

NORMAL = np.float32(1 / np.sqrt(2 * np.pi))
TURNS = 3  # of masks and wear in turn
FIRST_TURN = np.float32(0.3)  # least mask of missing ink then: a thin impression lacks much of the usual one
TONES = (np.float32(0.4), np.float32(1.1))
PRINTED = np.float32(0.3)
OPEN = np.float32(0.98)  # masks above this count as open where wear is solved for


@numba.njit(inline="always")
def _density(y, w, sigma, more, less):
    """Give a N(y; w, sigma^2) + 1 - a: with more ink than the pattern a cell is dirty, with less it is worn off."""
    off = (y - w) / sigma
    hidden = more if y > w else less
    return (1 - hidden) * NORMAL / sigma * np.exp(np.float32(-0.5) * off * off) + hidden


@numba.njit(inline="always")
def _mask(y, w, sigma, more, less):
    return 1 - (more if y > w else less) / _density(y, w, sigma, more, less)  # Eq. 10


@numba.njit(inline="always")
def _gather(y, w, V, sigma, mask, whole, H, g):
    """Gather 1 + V' m / sigma^2 V, closed masks being taken off `whole`, and V' m / sigma^2 (y - w)."""
    for a in range(WAYS):
        g[a] = np.float32(0)
        for b in range(WAYS):
            H[a, b] = whole[a, b]
    for i in range(len(w)):
        precision = 1 / (sigma[i] * sigma[i])
        r = mask[i] * precision * (y[i] - w[i])
        for a in range(WAYS):
            g[a] += r * V[i, a]
        if mask[i] < OPEN:
            closed = (1 - mask[i]) * precision
            for a in range(WAYS):
                t = closed * V[i, a]
                for b in range(WAYS):
                    H[a, b] -= t * V[i, b]


@numba.njit(inline="always")
def _solve(H, g, f):
    """Solve H f = g by Cholesky's factors, which take H's place."""
    for a in range(WAYS):
        for b in range(a + 1):
            t = H[a, b]
            for c in range(b):
                t -= H[a, c] * H[b, c]
            H[a, b] = np.sqrt(t) if a == b else t / H[b, b]
    for a in range(WAYS):
        t = g[a]
        for c in range(a):
            t -= H[a, c] * f[c]
        f[a] = t / H[a, a]
    for a in range(WAYS - 1, -1, -1):
        t = f[a]
        for c in range(a + 1, WAYS):
            t -= H[c, a] * f[c]
        f[a] = t / H[a, a]


@numba.njit(nogil=True, cache=True, **FAST)
def worn_evidence(
    cells, log_H, dirt, lost, rows, columns, w, V, sigma, veil, whole, corners, evidence, shown, mask, odds, f
):
    """Give the evidence of each candidate, the ink it is thought to have, its mask posterior, log odds, and its wear.

    `whole` is 1 + V' V / sigma^2, what wear is solved with where no mask is closed; closed masks are taken off it.
    """
    D = len(w)
    y, more, there = np.empty(D, np.float32), np.empty(D, np.float32), np.empty(D, np.float32)
    H, g = np.empty((WAYS, WAYS), np.float32), np.empty(WAYS, np.float32)
    for n in range(len(corners)):
        for i in range(D):
            y[i] = cells[corners[n, 0] + rows[i], corners[n, 1] + columns[i]]
            more[i] = max(dirt[corners[n, 0] + rows[i], corners[n, 1] + columns[i]], veil[i])
            there[i] = w[i]
        for turn in range(TURNS):
            for i in range(D):
                mask[n, i] = _mask(y[i], there[i], sigma[i], more[i], lost)
                if turn == 0 and y[i] < there[i]:
                    mask[n, i] = max(mask[n, i], FIRST_TURN)
            _gather(y, w, V, sigma, mask[n], whole, H, g)
            _solve(H, g, f[n])
            for i in range(D):
                t = w[i]
                for a in range(WAYS):
                    t += f[n, a] * V[i, a]
                there[i] = min(max(t, np.float32(0)), np.float32(1))
        total = np.float32(0)
        for i in range(D):
            p = _density(y[i], there[i], sigma[i], more[i], lost)
            mask[n, i] = _mask(y[i], there[i], sigma[i], more[i], lost)
            shown[n, i] = there[i]
            odds[n, i] = np.log(p) - log_H[corners[n, 0] + rows[i], corners[n, 1] + columns[i]]
            total += odds[n, i]
        for a in range(WAYS):
            total -= np.float32(0.5) * f[n, a] * f[n, a] + np.log(H[a, a])
        evidence[n] = total


@numba.njit(nogil=True, cache=True, **FAST)
def toned_evidence(cells, log_H, dirt, lost, rows, columns, w, sigma, veil, corners, evidence):
    """Give the evidence of each candidate if nothing but its tone is its own: quick, to choose candidates by."""
    for n in range(len(corners)):
        seen, usual = np.float32(1e-6), np.float32(1e-6)
        for i in range(len(w)):
            y, x = corners[n, 0] + rows[i], corners[n, 1] + columns[i]
            if w[i] > PRINTED and dirt[y, x] < np.float32(0.5):
                seen += w[i] * min(cells[y, x], np.float32(1.2) * w[i])
                usual += w[i] * w[i]
        tone = min(max(seen / usual, TONES[0]), TONES[1])
        total = np.float32(0)
        for i in range(len(w)):
            y, x = corners[n, 0] + rows[i], corners[n, 1] + columns[i]
            more = max(dirt[y, x], veil[i])
            total += np.log(_density(cells[y, x], tone * w[i], sigma[i], more, lost)) - log_H[y, x]
        evidence[n] = total


@numba.njit(nogil=True, cache=True, **FAST)
def overlaps(shown, odds, box, c, corner, one, other, overlap, terms):
    """Give what the evidence of two neighbours counts twice, negative: the one with more ink in a cell speaks for it.

    `shown` is the ink that each is thought to have, -1 where it covers nothing, `odds` what each cell says for it, and
    `box` [y0, x0, y1, x1] what a class covers. Ink that both have costs `overlap` for a cell: characters do not
    overlap.
    """
    for n in range(len(one)):
        k, l = one[n], other[n]
        down, right = corner[l, 0] - corner[k, 0], corner[l, 1] - corner[k, 1]
        total = np.float32(0)
        for i in range(max(box[c[k], 0], box[c[l], 0] + down), min(box[c[k], 2], box[c[l], 2] + down)):
            for j in range(max(box[c[k], 1], box[c[l], 1] + right), min(box[c[k], 3], box[c[l], 3] + right)):
                p, q = shown[k, i, j], shown[l, i - down, j - right]
                if p >= 0 and q >= 0:
                    total -= (odds[l, i - down, j - right] if p > q else odds[k, i, j]) + overlap * min(p, q)
        terms[n] = total


@numba.njit(nogil=True, cache=True)
def ink_gaps(left, right, c, corner, one, other, farthest, gaps):
    """Give the least distance, at most `farthest`, from the right side of some to the left of others, row by row.

    A row's ink is compared with that of the row above and below, too.
    """
    for n in range(len(one)):
        k, l = one[n], other[n]
        down, across = corner[l, 0] - corner[k, 0], corner[l, 1] - corner[k, 1]
        least = farthest
        for i in range(left.shape[1]):
            for j in range(max(0, i - down - 1), min(left.shape[1], i - down + 2)):
                least = min(least, left[c[l], j] + across - right[c[k], i] - 1)
        gaps[n] = least


@numba.njit(nogil=True, cache=True)
def best_chains(x, half, value, one, other, terms, tight, margin, best, before):
    """Find the best chain of candidates that ends with each of them, given from left to right.

    Neighbours are `tight` times the sum of their halves apart, at least. Pairs that overlap are those of `one` and
    `other`, sorted by the latter; up to the margin all pairs that may are among them.
    """
    reach = half.max() + margin
    pair, far, behind = 0, 0, -1  # the next pair, the first candidate that is not far away, the best of those that are
    for i in range(len(x)):
        while x[i] - x[far] > half[i] + reach:
            if behind < 0 or best[far] > best[behind]:
                behind = far
            far += 1
        most, which = 0.0, -1
        if behind >= 0 and best[behind] > most:
            most, which = best[behind], behind
        for k in range(far, i):
            if x[i] - x[k] > half[i] + half[k] + margin and best[k] > most:
                most, which = best[k], k
        while pair < len(other) and other[pair] == i:
            if best[one[pair]] + terms[pair] > most:
                most, which = best[one[pair]] + terms[pair], one[pair]
            pair += 1
        best[i], before[i] = value[i] + most, which


@numba.njit(nogil=True, cache=True)
def near_pairs(x, half, tight, margin, one, other):
    """Give the pairs of candidates, from left to right, that are close enough to overlap and may be neighbours.

    Returns their number; with arrays that are too short, nothing but the number.
    """
    reach = half.max() + margin
    count = 0
    for i in range(len(x)):
        for k in range(i - 1, -1, -1):
            apart = x[i] - x[k]
            if apart > half[i] + reach:
                break
            if tight * (half[i] + half[k]) <= apart <= half[i] + half[k] + margin:
                if count < len(one):
                    one[count], other[count] = k, i
                count += 1
    return count
