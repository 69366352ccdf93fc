"""The model, written as slowly and as plainly as the paper writes it: loops over every c, x and m."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from unblot.model.background import Background
from unblot.model.theta import Theta


class Naive:
    def __init__(self, theta: Theta, background: Background, D: tuple[int, int]) -> None:
        self.W, self.Phi, self.A, self.pi = (t.double().cpu().numpy() for t in (theta.W, theta.Phi, theta.A, theta.pi))
        self.edges, self.density = background.edges.cpu().numpy(), background.log_density.cpu().numpy()
        self.bins = background.bins.cpu().numpy()
        self.C, self.P, self.F, self.D = theta.C, theta.P, theta.F, D
        self.pattern = list(itertools.product(range(self.P[0]), range(self.P[1])))
        self.patch = list(itertools.product(range(D[0]), range(D[1])))

    def background(self, y: np.ndarray) -> float:
        """H_B(y)."""
        total = 1.0
        for f in range(self.F):
            inside = [b for b in range(self.bins[f]) if y[f] >= self.edges[f][b]]
            total *= math.exp(self.density[f][max(inside, default=0)])
        return total

    def gaussian(self, y: np.ndarray, c: int, i: tuple[int, int]) -> float:
        total = 1.0
        for f in range(self.F):
            variance = self.Phi[c][i][f]
            total *= math.exp(-((y[f] - self.W[c][i][f]) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        return total

    def joint(self, Y: np.ndarray, c: int, m: dict[tuple[int, int], int], x: tuple[int, int]) -> float:
        """p(Y, c, m, x), Eqs. 1 to 5 multiplied out over every position of the patch."""
        total = self.pi[c] / (self.D[0] * self.D[1])
        for i in self.pattern:
            total *= self.A[c][i] if m[i] else 1 - self.A[c][i]
        covered = {((i[0] + x[0]) % self.D[0], (i[1] + x[1]) % self.D[1]): i for i in self.pattern}
        for d in self.patch:
            i = covered.get(d)
            present = i is not None and m[i]
            total *= self.gaussian(Y[d], c, i) if present else self.background(Y[d])
        return total

    def masks(self) -> Iterator[dict[tuple[int, int], int]]:
        for bits in itertools.product((0, 1), repeat=len(self.pattern)):
            yield dict(zip(self.pattern, bits, strict=True))

    def states(self) -> list[tuple[int, tuple[int, int]]]:
        return [(c, x) for c in range(self.C) for x in self.patch]

    def table(self, Y: np.ndarray) -> dict[tuple[int, tuple[int, int]], list[tuple[dict, float]]]:
        """Every joint probability of a patch, by (c, x)."""
        return {(c, x): [(m, self.joint(Y, c, m, x)) for m in self.masks()] for c, x in self.states()}

    def score(self, Y: np.ndarray, c: int, x: tuple[int, int], lam: int) -> float:
        """S(c, x) of Eq. 13 over the lam most reliable features, each factor over the background's."""
        order = sorted(self.pattern, key=lambda i: (-self.A[c][i], i))[:lam]
        total = self.pi[c] / (self.D[0] * self.D[1])
        for i in order:
            y = Y[(i[0] + x[0]) % self.D[0], (i[1] + x[1]) % self.D[1]]
            present, absent = self.gaussian(y, c, i) * self.A[c][i], self.background(y) * (1 - self.A[c][i])
            total *= (present + absent) / self.background(y)
        return total

    def chosen(self, Y: np.ndarray, lam: int, K: float) -> set[tuple[int, tuple[int, int]]]:
        """K_n of Eq. 14."""
        ranked = sorted(self.states(), key=lambda s: -self.score(Y, *s, lam))
        return set(ranked[: max(1, round(K * len(ranked)))])
