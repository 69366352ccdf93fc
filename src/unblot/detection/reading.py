"""The page read: the characters that explain it best together, line by line, and the next likely reading of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from unblot.detection.places import PLAY, Search, find_places
from unblot.detection.quality import quality as measure
from unblot.detection.rows import Rows
from unblot.detection.spacing import Spacing
from unblot.grid import FRAME
from unblot.inference.kernels_wear import best_chains, near_pairs, overlaps
from unblot.inference.sheet import DIRTY, Sheet, glance, look
from unblot.learning.glyphs import Glyph, inside
from unblot.threads import side_by_side

COST = 100.0  # evidence that a further character costs: several fit more by chance than one
OVERLAP = 4.0  # evidence that each cell of ink costs that two characters have
TIGHT = 0.5  # of the sum of their half widths, by which neighbours are apart at least
MARGIN = 10.0  # cells between the ink of neighbours whose patterns may cover the same cells
BEHIND = 300.0  # evidence at a glance by which another one close by is ahead
CLOSE = 3.0  # cells
WIDER = 1.25  # times its width: a wider one may give way to this and another one beside it
LEAST = -20.0  # evidence
STEPS, MOST_STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1)), 3  # cells


@dataclass(frozen=True)
class Readings:
    """Characters in the order of lines: class, frame, evidence, quality; and what is the next likely reading of each.

    That is a class, -1 for none. `joint` is what the evidence of each and that of the next have too much, negative.
    """

    c: Int[np.ndarray, " S"]
    corner: Int[np.ndarray, "S 2"]
    evidence: Float[np.ndarray, " S"]
    quality: Float[np.ndarray, " S"]
    joint: Float[np.ndarray, " S"]
    second: Int[np.ndarray, " S"]

    def __len__(self) -> int:
        """Count them."""
        return len(self.c)

    @property
    def share(self) -> Float[np.ndarray, " S"]:
        """The share of its class's usual evidence that each has."""
        usual = {k: max(float(np.median(self.evidence[self.c == k])), 1e-6) for k in np.unique(self.c).tolist()}
        return self.evidence / np.array([usual[k] for k in self.c.tolist()], np.float32)

    def __getitem__(self, chosen: np.ndarray) -> Readings:
        """Take some of them."""
        return Readings(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def read(
    sheet: Sheet,
    glyphs: list[Glyph],
    pi: Float[np.ndarray, " C"],
    rows: Rows | None,
    search: Search,
    spacing: Spacing | None = None,
) -> Readings:
    """Read a page with some classes, whose frequencies are given, and how close neighbours come, if that is known."""
    c, corner, hope = _climbed(sheet, glyphs, *find_places(sheet, glyphs, rows, search), search)
    lines = _lines(glyphs, c, corner, rows)
    line = _Line(sheet, glyphs, np.log(pi), spacing)
    parts = [_none(), *side_by_side(lambda of: line.read(c[of], corner[of], hope[of]), lines)]
    return Readings(*(np.concatenate([getattr(p, name) for p in parts]) for name in Readings.__dataclass_fields__))


def _climbed(
    sheet: Sheet, glyphs: list[Glyph], c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], search: Search
) -> tuple[Int[np.ndarray, " s"], Int[np.ndarray, "s 2"], Float[np.ndarray, " s"]]:
    """Move places by single cells to where most speaks for their class at a glance; leave out those without hope."""

    def climb(k: int) -> tuple[np.ndarray, np.ndarray]:
        pattern, places = glyphs[k].pattern, inside(sheet, corner[c == k])
        best = glance(sheet, pattern, places)
        places, best = places[best > search.first_hope], best[best > search.first_hope]
        moving = np.arange(len(places))
        for _ in range(MOST_STEPS):
            start = places[moving]
            for step in STEPS:
                tried = inside(sheet, start + np.array(step))
                evidence = glance(sheet, pattern, tried)
                better = evidence > best[moving]
                best[moving[better]], places[moving[better]] = evidence[better], tried[better]
            moving = moving[(places[moving] != start).any(1)]
        kept = best > search.hopeless
        places, first = np.unique(places[kept], axis=0, return_index=True)
        return places, best[kept][first]

    climbed = side_by_side(climb, range(len(glyphs)))
    return (
        np.concatenate([np.full(len(places), k) for k, (places, _) in enumerate(climbed)]),
        np.concatenate([places for places, _ in climbed]),
        np.concatenate([best for _, best in climbed]),
    )


def _lines(
    glyphs: list[Glyph], c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], rows: Rows | None
) -> list[Int[np.ndarray, " _"]]:
    """Give the candidates of each line; where the page has no lines, those that overlap each other."""
    if not len(c):
        return []
    if rows is not None:
        off = np.array([rows.off(line, c, corner) for line in rows.rows])
        nearest = off.argmin(0)
        close = off.min(0) <= PLAY + 2
        return [np.nonzero(close & (nearest == k))[0] for k in range(len(off))]
    x0, y0, x1, y1 = np.array([g.box for g in glyphs])[c].T + np.stack([*corner.T[::-1], *corner.T[::-1]])
    middle = np.stack([y0 + y1, x0 + x1], 1) / 2
    one, other = cKDTree(middle).query_pairs(max(FRAME), output_type="ndarray").T
    beside = (np.minimum(x1[one], x1[other]) > np.maximum(x0[one], x0[other])) & (
        np.minimum(y1[one], y1[other]) > np.maximum(y0[one], y0[other])
    )
    graph = coo_array((beside[beside], (one[beside], other[beside])), shape=(len(c), len(c)))
    count, group = connected_components(graph, directed=False)
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group, minlength=count))[:-1])


class _Line:
    """Reads one line after the other with the same classes."""

    def __init__(
        self, sheet: Sheet, glyphs: list[Glyph], log_pi: Float[np.ndarray, " C"], spacing: Spacing | None
    ) -> None:
        self.sheet, self.glyphs, self.log_pi, self.spacing = sheet, glyphs, log_pi, spacing
        self.half = np.array([(g.box[2] - g.box[0]) / 2 for g in glyphs])
        self.middle = np.array([(g.box[2] + g.box[0]) / 2 for g in glyphs])
        covered = [(g.pattern.rows, g.pattern.columns) for g in glyphs]
        self.box = np.array([(y.min(), x.min(), y.max() + 1, x.max() + 1) for y, x in covered])

    def read(self, c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], hope: Float[np.ndarray, " S"]) -> Readings:
        """Choose the candidates that explain a line best together."""
        x = corner[:, 1] + self.middle[c]
        some = np.argsort(x, kind="stable")
        some = some[_hopeful(x[some], hope[some], self.half[c[some]])]
        c, corner, x = c[some], corner[some], x[some]
        evidence, quality, shown, odds = self._look(c, corner)
        kept = evidence > LEAST
        c, corner, x, evidence, quality, shown, odds = (v[kept] for v in (c, corner, x, evidence, quality, shown, odds))
        if not len(c):
            return _none()
        value, half = (evidence - COST).astype(np.float64), self.half[c]
        one, other = _near_pairs(x, half)
        terms = np.empty(len(one), np.float32)
        overlaps(shown, odds, self.box, c, corner, one, other, np.float32(OVERLAP), terms)
        if self.spacing is not None:
            terms += self.spacing.cost(self.spacing.sides.gaps(c, corner, one, other))
        to_here, before = _chains(x, half, value, one, other, terms)
        chosen = _path(to_here, before)
        if not len(chosen):
            return _none()
        n = len(c)
        from_here = _chains(-x[::-1], half[::-1], value[::-1], n - 1 - other, n - 1 - one, terms)[0][::-1]
        through = to_here + from_here - value
        second = np.full(len(chosen), -1)
        for place, k in enumerate(chosen):
            rival = (np.abs(x - x[k]) < TIGHT * (half + half[k])) & (c != c[k])
            if rival.any():
                second[place] = c[int(np.where(rival, through, -np.inf).argmax())]
        term = dict(zip(zip(one.tolist(), other.tolist(), strict=True), terms.tolist(), strict=True))
        pairs = zip(chosen.tolist(), [*chosen[1:].tolist(), -1], strict=True)
        joint = np.array([term.get(pair, 0.0) for pair in pairs], np.float32)
        return Readings(c[chosen], corner[chosen], evidence[chosen], quality[chosen], joint, second)

    def _look(
        self, c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"]
    ) -> tuple[
        Float[np.ndarray, " S"],
        Float[np.ndarray, " S"],
        Float[np.ndarray, "S P1 P2"],
        Float[np.ndarray, "S P1 P2"],
    ]:
        """Give evidence, quality, the ink that each candidate is thought to have, -1 outside, and each cell's odds."""
        evidence, quality = np.empty(len(c), np.float32), np.empty(len(c), np.float32)
        shown, odds = np.full((len(c), *FRAME), -1, np.float32), np.zeros((len(c), *FRAME), np.float32)
        for k in np.unique(c):
            own, pattern = np.nonzero(c == k)[0], self.glyphs[k].pattern
            seen = look(self.sheet, pattern, corner[own])
            evidence[own] = seen.evidence + self.log_pi[k]
            mask = torch.from_numpy(seen.mask)
            quality[own] = measure(torch.full_like(mask, 1 - DIRTY), mask).numpy()
            shown[own[:, None], pattern.rows, pattern.columns] = seen.shown
            odds[own[:, None], pattern.rows, pattern.columns] = seen.odds
        return evidence, quality, shown, odds


def _hopeful(
    x: Float[np.ndarray, " S"], hope: Float[np.ndarray, " S"], half: Float[np.ndarray, " S"]
) -> Bool[np.ndarray, " S"]:
    """Tell the candidates that nothing close by, and not much wider, is far ahead of at a glance."""
    first, last = np.searchsorted(x, x - CLOSE), np.searchsorted(x, x + CLOSE, "right")
    widest = WIDER * half
    best = np.array([hope[a:b][half[a:b] <= w].max() for a, b, w in zip(first, last, widest, strict=True)])
    return np.asarray(hope > best - BEHIND)


def _near_pairs(
    x: Float[np.ndarray, " S"], half: Float[np.ndarray, " S"]
) -> tuple[Int[np.ndarray, " p"], Int[np.ndarray, " p"]]:
    """Give the pairs that may be neighbours and are close enough to overlap."""
    nothing = np.zeros(0, np.int64)
    count = near_pairs(x, half, TIGHT, MARGIN, nothing, nothing)
    one, other = np.empty(count, np.int64), np.empty(count, np.int64)
    near_pairs(x, half, TIGHT, MARGIN, one, other)
    return one, other


def _chains(
    x: Float[np.ndarray, " S"],
    half: Float[np.ndarray, " S"],
    value: Float[np.ndarray, " S"],
    one: Int[np.ndarray, " p"],
    other: Int[np.ndarray, " p"],
    terms: Float[np.ndarray, " p"],
) -> tuple[Float[np.ndarray, " S"], Int[np.ndarray, " S"]]:
    """Give the value of the best chain that ends with each candidate, and the one before it there."""
    order = np.argsort(other, kind="stable")
    best, before = np.empty(len(x)), np.empty(len(x), np.int64)
    best_chains(
        *(np.ascontiguousarray(v) for v in (x, half, value, one[order], other[order], terms[order])),
        *(TIGHT, MARGIN, best, before),
    )
    return best, before


def _path(best: Float[np.ndarray, " S"], before: Int[np.ndarray, " S"]) -> Int[np.ndarray, " s"]:
    """Follow the best chain back from its end."""
    at = int(best.argmax())
    path = []
    while at >= 0 and best[at] > 0:
        path.append(at)
        at = int(before[at])
    return np.array(path[::-1], int)


def _none() -> Readings:
    nothing = np.zeros(0, np.float32)
    return Readings(np.zeros(0, int), np.zeros((0, 2), int), nothing, nothing, nothing, np.zeros(0, int))
