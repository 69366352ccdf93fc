"""Readings of one place compared on all that either covers.

The evidence of a candidate counts its own cells alone: an n explains most of an h, and says nothing of the stem above
it. Here whoever has no ink where its rival has must take what stands there for paper, and ink that neighbours own
speaks for nobody.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unblot.detection.candidates import Candidates
from unblot.detection.owners import best_two, completeness, least_whole, sure_ones, weighed
from unblot.grid import FRAME
from unblot.learning.windows import INKED, START, START_VARIANCE, alone, around_small, grown, small_ones
from unblot.model.theta import Theta

MARGIN = 40.0  # evidence that a rival must have more, since dirt hides from either what it has ahead
FURTHER = 260.0  # evidence that each further character costs: several fit more by chance than one
CLOSE = 0.4  # of the evidence of those that hold its ink that a rival must have
CLEAR = 0.9  # of their typical evidence that most sure characters have where type is not worn
MOST_RIVALS = 2  # at once
SHOWN = 0.4  # of the ink of a cell
LEAST_SHOWN = 0.7  # of the ink that its class shows usually, where no neighbour owns it
AROUND = 4  # cells around what rivals cover
OUTSIDE = 8  # cells of ink that go on there
OVERLAP = 4.0  # evidence against a reading for each cell of its ink that a neighbour owns: characters do not overlap
HANGS = 3.0  # times a small mark's ink that hangs together with it: then it is a piece of that
OFTEN = 0.3  # of a class's places
TURNS = 5
BLOCK = 16  # cells of the page, up and down, whose owners are known to have changed or not


@dataclass(frozen=True)
class View:
    """A page and patterns as rivals see them: cells, log density of the background, and each class's ink.

    `paper` are the log odds of paper against the background, `own` the cells of a class's own ink, `near` those and the
    ones next to them.
    """

    cells: Float[np.ndarray, "G1 G2"]
    log_H: Float[np.ndarray, "G1 G2"]
    paper: Float[np.ndarray, "G1 G2"]
    W: Float[np.ndarray, "C P1 P2"]
    Phi: Float[np.ndarray, "C P1 P2"]
    A: Float[np.ndarray, "C P1 P2"]
    own: Bool[np.ndarray, "C P1 P2"]
    near: Bool[np.ndarray, "C P1 P2"]
    known: dict[tuple[int, int, int], np.ndarray] = field(default_factory=dict)  # the odds that were asked for

    def odds(self, c: int, corner: Int[np.ndarray, " 2"]) -> Float[np.ndarray, "P1 P2"]:
        """Give log [a N(y; w, Phi) / H_B + (1 - a)] of each cell, minus infinity where a pattern covers none."""
        key = c, int(corner[0]), int(corner[1])
        if key not in self.known:
            frame = _frame(corner)
            there = _log_mixture(self.cells[frame], self.log_H[frame], self.W[c], self.Phi[c], self.A[c])
            self.known[key] = np.where(self.A[c] > 0, there, -np.inf).astype(np.float32)
        return self.known[key]


@dataclass
class _Memory:
    """How far sides were ahead, and when; in which step owners last changed in each block of the page."""

    changed: Int[np.ndarray, "B1 B2"]
    step: int = 0
    known: dict[tuple[int, ...], tuple[int, float]] = field(default_factory=dict)

    def change(self, frame: tuple[slice, slice]) -> None:
        """Take down that owners change in a frame."""
        self.step += 1
        self.changed[_blocks(*frame)] = self.step

    def ahead(self, look: Callable[..., float], found: Candidates, side: list[int], against: list[int]) -> float:
        """Give how far a side is ahead of another, as it was found where no owner has changed since."""
        key, piece = (*side, -1, *against), _piece(found.corner[[*side, *against]])
        if key not in self.known or self.changed[_blocks(*piece)].max() > self.known[key][0]:
            self.known[key] = self.step, look(side, against, piece)
        return self.known[key][1]


def view(
    cells: Float[Tensor, "G1 G2 1"], log_H: Float[Tensor, "G1 G2"], theta: Theta, own: Bool[np.ndarray, "C P1 P2"]
) -> View:
    """Look at a page with patterns whose own ink is given."""
    page, H, W, Phi, A = (
        v.double().cpu().numpy() for v in (cells[..., 0], log_H, theta.W[..., 0], theta.Phi[..., 0], theta.A)
    )
    paper = _log_mixture(page, H, np.zeros(()), np.full((), START_VARIANCE), np.full((), START))
    return View(page, H, paper, W, Phi, A, own, np.stack([grown(ink, 1) for ink in own]))


def _log_mixture(y: np.ndarray, H: np.ndarray, w: np.ndarray, phi: np.ndarray, a: np.ndarray) -> np.ndarray:
    tiny = np.finfo(float).tiny
    inked = np.log(np.maximum(a, tiny)) - (y - w) ** 2 / (2 * phi) - 0.5 * np.log(2 * math.pi * phi) - H
    return np.asarray(np.logaddexp(inked, np.log(np.maximum(1 - a, tiny))))


def crowded(view: View, found: Candidates, typical: Float[np.ndarray, " C"], broken: bool) -> Bool[np.ndarray, " S"]:
    """Tell the small marks that do not stand alone: they are a piece of more ink or, in broken type, close to it.

    Most places that look like a dot are pieces of pen strokes and letters; what strokes hardly ever look like may be
    crossed by one.
    """
    count, pieces = cv2.connectedComponents((view.cells > INKED).astype(np.uint8))
    area = np.bincount(pieces.ravel(), minlength=count)
    area[0] = 0
    sure = sure_ones(found, typical)
    result = np.zeros(len(found.c), bool)
    for c in np.nonzero(small_ones(view.own))[0]:
        own, around, mine = view.own[c], around_small(view.own[c]), np.nonzero(found.c == c)[0]
        frames = [_frame(corner) for corner in found.corner[mine]]
        hangs = np.array([area[pieces[frame][own]].max() > HANGS * own.sum() for frame in frames], bool)
        if (hangs & sure[mine]).sum() > OFTEN * sure[mine].sum():
            result[mine] = hangs
        if broken:
            result[mine] |= np.array([not alone(view.cells[frame], around) for frame in frames], bool)
    return result


def contest(
    view: View,
    found: Candidates,
    chosen: Int[np.ndarray, " s"],
    rivals: list[Int[np.ndarray, " _"]],
    typical: Float[np.ndarray, " C"],
    allowed: Bool[np.ndarray, " S"] | None,
    broken: bool,
) -> Int[np.ndarray, " t"]:
    """Let chosen candidates give way to rivals that see more in all that they cover; give the most evidence first.

    Two take the place of all that keep them out; both are whole where the type is broken or worn, or pieces would take
    a letter's.
    """
    holds = np.zeros(len(found.c), bool)
    blocked = np.zeros(len(found.c), int)  # by how many that hold
    if allowed is not None:
        blocked[~allowed] = len(blocked)
    owned = np.zeros(view.cells.shape, np.int16)  # by how many of them
    memory = _Memory(np.zeros(-(-np.array(owned.shape) // BLOCK), int))
    weight = weighed(found, typical)
    gain = weight.copy()  # less what those that hold would lose

    def hold(those: list[int], sign: int) -> None:
        for k in those:
            frame = _frame(found.corner[k])
            memory.change(frame)
            holds[k] = sign > 0
            blocked[rivals[k]] += sign
            gain[rivals[k]] -= sign * weight[k]
            owned[frame] += (sign * view.near[found.c[k]]).astype(np.int16)

    hold(chosen.tolist(), 1)
    share = completeness(found, typical)
    least = least_whole(share[holds])
    whole, clear = share > least, not broken and not worn(share[holds])
    order = np.argsort(-found.evidence, kind="stable")
    look = functools.partial(_more_seen, view, found, owned, whole)

    def instead_of(k: int) -> tuple[list[int], list[int]]:
        """Give those that may hold k's ink, and all that hold theirs: two for k, or k for two, one or none."""
        if holds[k]:
            two = best_two(rivals[k][(blocked[rivals[k]] <= MOST_RIVALS) & (whole[rivals[k]] | clear)], gain, rivals)
            return two, sorted({int(rival) for one in two for rival in rivals[one] if holds[rival]})
        against = rivals[k][holds[rivals[k]]].tolist()
        close = found.evidence[k] > CLOSE * found.evidence[against].sum() and found.c[k] not in found.c[against]
        return [k] if close and blocked[k] <= MOST_RIVALS else [], against

    for _ in range(TURNS):
        before = holds.copy()
        for k in order.tolist():
            side, against = instead_of(k)
            if side and (not against or memory.ahead(look, found, side, against) > MARGIN):
                hold(against, -1)
                hold(side, 1)
        if (holds == before).all():
            break
    held = order[holds[order]]
    return np.asarray(held[sure_ones(found[held], typical) | _shown(view, found[held], owned)])


def worn(share: Float[np.ndarray, " s"]) -> bool:
    """Tell whether characters, having that share of their typical evidence, are less alike than those of clear type."""
    return least_whole(share) <= CLEAR


def _shown(view: View, held: Candidates, owned: Int[np.ndarray, "G1 G2"]) -> Bool[np.ndarray, " t"]:
    """Tell which characters show about as much ink that is theirs alone as others of their class do."""
    share = np.zeros(len(held.c))
    for k, (c, corner) in enumerate(zip(held.c, held.corner, strict=True)):
        frame = _frame(corner)
        alone = (view.cells[frame] > SHOWN * view.W[c]) & (owned[frame] == view.near[c])
        share[k] = alone[view.own[c]].mean()
    usual = {c: np.median(share[held.c == c]) for c in np.unique(held.c)}
    return np.asarray(share > LEAST_SHOWN * np.array([usual[c] for c in held.c]))


def _more_seen(
    view: View,
    found: Candidates,
    owned: Int[np.ndarray, "G1 G2"],
    whole: Bool[np.ndarray, " S"],
    side: list[int],
    against: list[int],
    piece: tuple[slice, slice],
) -> float:
    """Give how much more one side sees than those that hold its ink, in what any covers and nobody else owns.

    What it costs is taken off: ink that others own, and characters that it has more. They all lie in a piece.
    """
    top, left = (each.start for each in piece)
    paper = view.paper[piece]
    sums, ink, claimed, covered = [], [], [], np.zeros(paper.shape, bool)
    others = owned[piece].copy()
    for those in (side, against):
        best, own, claims = np.full(paper.shape, -np.inf), np.zeros(paper.shape, bool), np.zeros(paper.shape, bool)
        for one in those:
            c, frame = int(found.c[one]), _frame(found.corner[one] - (top, left))
            best[frame] = np.maximum(best[frame], view.odds(c, found.corner[one]))
            own[frame] |= view.near[c]
            claims[frame] |= view.own[c]
            if those is against:
                others[frame] -= view.near[c]
        covered |= np.isfinite(best)
        sums.append(np.where(np.isfinite(best), best, paper))
        ink.append(own)
        claimed.append(claims)
    free = others == 0
    inked = (view.cells[piece] > INKED) & free
    crossed = _going_on(inked & ~(ink[0] & ink[1]), covered)
    for those, own in zip((side, against), ink, strict=True):
        if whole[those].all():
            crossed &= ~own
    counted = covered & free & ~crossed
    overlap = [int((claims & ~free).sum()) for claims in claimed]
    cost = OVERLAP * (overlap[0] - overlap[1]) + FURTHER * (len(side) - len(against))
    return float((sums[0] - sums[1])[counted].sum()) - cost


def _going_on(inked: Bool[np.ndarray, "h w"], covered: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """Tell the ink that goes on where rivals cover nothing: a stroke across them, and no part of either."""
    count, pieces = cv2.connectedComponents(inked.astype(np.uint8))
    outside = np.bincount(pieces[~covered], minlength=count) >= OUTSIDE
    outside[0] = False
    return np.asarray(outside[pieces])


def _piece(corner: Int[np.ndarray, "N 2"]) -> tuple[slice, slice]:
    """Give the piece of the page that some frames cover, and what is close by."""
    first, last = np.maximum(corner.min(0) - AROUND, 0).tolist(), (corner.max(0) + FRAME + AROUND).tolist()
    return slice(first[0], last[0]), slice(first[1], last[1])


def _blocks(*piece: slice) -> tuple[slice, ...]:
    """Give the blocks that a piece of the page lies in."""
    return tuple(slice(side.start // BLOCK, -(-side.stop // BLOCK)) for side in piece)


def _frame(corner: Int[np.ndarray, " 2"]) -> tuple[slice, slice]:
    return slice(corner[0], corner[0] + FRAME[0]), slice(corner[1], corner[1] + FRAME[1])
