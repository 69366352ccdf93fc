"""Theta from frames whose character is known: the M-step (Eq. 8) with class and position given, and only masks open."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unblot.grid import CELL, FRAME, LEAST_VARIANCE, Grid
from unblot.inference.batch import Batch, States
from unblot.inference.estep import Posterior, statistics
from unblot.inference.kernels import kernels_for
from unblot.learning.mstep import mstep
from unblot.model.background import MOST_VALUES, Background, fit_background
from unblot.model.likelihood import terms
from unblot.model.theta import Theta
from unblot.scale import HEIGHT

START = 0.85  # mask of every feature before the page says otherwise
START_VARIANCE = 0.02
PLAY = 0.25  # squared cells
STEPS = 4
PRINTED = 0.35  # ink that most instances have
RELIABLE = 0.85  # of the mask of a character's own ink: ink beside it that is as reliable belongs to it
LEAST_RELIABLE = 0.5
SPECK = 4  # cells
GAP = 3  # cells between the pieces of a broken character
STACKED = 0.6  # share of its width that a dot has above or below its letter
RING = 3  # cells around a character's ink that its pattern takes in
SMALL, LOW = 100, 0.8  # cells of ink, and heights of a character
BESIDE_SMALL = 2  # times its own ink that may be reliable beside a small mark
ALONE, SIDE = 6, 4  # cells above and below a small mark that hold no other, and beside it, where neighbours are close
CROWDED = 0.05  # of the cells around a small mark that have ink
INKED = 0.4
NEAR, FAR = 5, 9  # cells beside a character that are its own where it is free, FAR where type is broken
NOW_AND_THEN, ALWAYS = 0.05, 0.95  # of a class's examples


@dataclass(frozen=True)
class Shape:
    """The cells of a frame that are a character's own ink, and the box [x0, y0, x1, y1] around them."""

    own: Bool[np.ndarray, "P1 P2"]
    box: tuple[int, int, int, int]


def page_background(grid: Grid) -> Background:
    """Build H_B from the page's cells, blurred by as much as no variance is below.

    Otherwise its bins resolve blank paper better than any Gaussian may, and no pattern could own the paper that
    separates it from strokes.
    """
    values = grid.cells[FRAME[0] : -FRAME[0], FRAME[1] : -FRAME[1]].reshape(-1, 1).cpu()
    values = values[:: -(-len(values) // MOST_VALUES)]
    noise = torch.randn(values.shape, generator=torch.Generator().manual_seed(0))
    return fit_background(values + LEAST_VARIANCE**0.5 * noise).to(grid.cells.device)


def frames(grid: Grid, log_H: Float[Tensor, "G1 G2"], corners: Int[np.ndarray, "N 2"]) -> Batch:
    """Cut frames out of the page, patches of exactly a pattern's size."""
    Y = grid.windows(grid.cells[..., 0], corners)[..., None].contiguous()
    return Batch(Y, grid.windows(log_H, corners).contiguous())


def fit(grid: Grid, log_H: Float[Tensor, "G1 G2"], members: list[Int[np.ndarray, "_ 2"]]) -> Theta:
    """Learn the pattern of each class from the frames at the corners of its members."""
    corners = np.concatenate(members)
    device = grid.cells.device
    c = torch.from_numpy(np.repeat(np.arange(len(members)), [len(m) for m in members])).to(device)
    batch = frames(grid, log_H, corners)
    W = torch.stack([_middle(batch.Y[c == k]) for k in range(len(members))])
    pi = torch.bincount(c).to(W) / len(c)
    theta = Theta(W, torch.full_like(W, START_VARIANCE), torch.full_like(W[..., 0], START), pi)
    states = States(torch.arange(len(c), device=device), c, torch.zeros_like(c))
    given = Posterior(states, W.new_ones(len(c), 1), W.new_zeros(len(c)))
    least = torch.full((1,), LEAST_VARIANCE, device=device)
    for _ in range(STEPS):
        theta = mstep(theta, statistics(batch, terms(theta, FRAME), given), least, PLAY)
    return theta


def _middle(values: Float[Tensor, "N P1 P2 F"]) -> Float[Tensor, "P1 P2 F"]:
    """Give the median, the lower one of two: as `torch.median` does, which takes four times as long."""
    half = (len(values) - 1) // 2
    return torch.from_numpy(np.partition(values.cpu().numpy(), half, axis=0)[half]).to(values.device)


def evidence(
    grid: Grid, log_H: Float[Tensor, "G1 G2"], theta: Theta, c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"]
) -> Float[np.ndarray, " S"]:
    """Give log p(Y | c, x) - log p(Y | background), the page being the one patch Y (Eq. 11 without its priors)."""
    order = np.argsort(c, kind="stable")
    flat = corner[:, 0] * grid.shape[1] + corner[:, 1]
    sorted_c, sorted_x = (torch.from_numpy(v[order]).to(theta.W.device) for v in (c, flat))
    tables = terms(theta, grid.shape)
    states = States(torch.zeros_like(sorted_c), sorted_c, sorted_x)
    sums = kernels_for(theta.W.device).sum_states(Batch(grid.cells[None], log_H[None]), tables, states)
    result = np.empty(len(c), np.float32)
    result[order] = (sums + tables.absent.sum(1)[sorted_c]).cpu().numpy()
    return result


def own_shape(
    W: Float[np.ndarray, "P1 P2"], A: Float[np.ndarray, "P1 P2"], part: Float[np.ndarray, "P1 P2"], broken: bool
) -> Shape | None:
    """Grow a part to its character: the pieces above or below that are as reliably there, or close by in broken type.

    None where type is broken and most of what is reliable lies farther away: the part is one of a larger character.
    Beside full stops and commas there mostly are letters, which look alike on that side.
    """
    own = part > PRINTED
    if not own.any():
        return None
    solid = _solid(W, A, own)
    own = _with_pieces(own, solid, GAP if broken else 0)
    least = (BESIDE_SMALL if is_small(own) else 1) * own.sum()
    return None if broken and (solid & ~grown(own, 2)).sum() > least else shape_of(own)


def whole_part(
    W: Float[np.ndarray, "P1 P2"],
    A: Float[np.ndarray, "P1 P2"],
    part: Float[np.ndarray, "P1 P2"],
    cells: Float[np.ndarray, "N P1 P2"],
    broken: bool,
) -> Float[np.ndarray, "P1 P2"]:
    """Give a part that never stands free what all of its examples have within reach, if it stands free then.

    So the two halves of a Hangul syllable come together, however far apart they are. If not, it gets the pieces close
    by, as `own_shape` gives them in broken type.
    """
    own = part > PRINTED
    if not own.any() or stands_free(cells, own, broken):
        return part
    solid = _solid(W, A, own)
    own = _with_pieces(own, solid, GAP)
    always = solid & ((cells > PRINTED).mean(0) > ALWAYS)
    more = _with_pieces(own, always, _reach(broken))
    if not stands_free(cells, more, broken):
        more = np.zeros_like(own) if broken else own
    return np.where(more, np.maximum(part, W), part)


def _solid(
    W: Float[np.ndarray, "P1 P2"], A: Float[np.ndarray, "P1 P2"], own: Bool[np.ndarray, "P1 P2"]
) -> Bool[np.ndarray, "P1 P2"]:
    """Tell the cells whose ink is as reliable as a part's own."""
    return np.asarray((W > PRINTED) & (max(RELIABLE * np.quantile(A[own], 0.8), LEAST_RELIABLE) < A))


def stands_free(cells: Float[np.ndarray, "N P1 P2"], own: Bool[np.ndarray, "P1 P2"], broken: bool) -> bool:
    """Tell whether examples have paper within reach on each side, now on this one, now on that.

    A character has, a piece of one never where the rest of it is.
    """
    inked, around = cells > INKED, grown(own, _reach(broken)) & ~grown(own, 1)
    behind = [np.maximum.accumulate(own, axis) for axis in (0, 1)]
    ahead = [np.flip(np.maximum.accumulate(np.flip(own, axis), axis), axis) for axis in (0, 1)]
    sides = [around & one & ~other for a, b in zip(behind, ahead, strict=True) for one, other in ((a, b), (b, a))]
    least = max(2, NOW_AND_THEN * len(cells))
    return all((inked[:, side].sum(1) < SPECK).sum() >= least for side in sides)


def _reach(broken: bool) -> int:
    """Give the cells beside a part in which the rest of its character would be."""
    return FAR if broken else NEAR


def _with_pieces(
    own: Bool[np.ndarray, "P1 P2"], solid: Bool[np.ndarray, "P1 P2"], gap: int
) -> Bool[np.ndarray, "P1 P2"]:
    """Take in the solid pieces that lie close by, above or below, one after the other."""
    count, pieces, stats, _ = cv2.connectedComponentsWithStats(solid.astype(np.uint8), connectivity=8)
    edge = set(np.concatenate([pieces[0], pieces[-1], pieces[:, 0], pieces[:, -1]]).tolist())
    left = [k for k in range(1, count) if k not in edge and stats[k, cv2.CC_STAT_AREA] >= SPECK]
    while belonging := [k for k in left if _belongs(pieces == k, own, gap)]:
        own = own | (pieces == belonging[0])
        left.remove(belonging[0])
    return own


def shape_of(own: Bool[np.ndarray, "P1 P2"]) -> Shape | None:
    """Give the shape of a character's own ink, None where there is none."""
    if not own.any():
        return None
    rows, columns = np.nonzero(own)
    return Shape(own, (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1))


def within(theta: Theta, shapes: list[Shape]) -> Theta:
    """Take the masks off all features but those of each character's own ink and the paper just around it."""
    near = torch.from_numpy(np.stack([grown(shape.own, RING) for shape in shapes])).to(theta.A.device)
    return replace(theta, A=torch.where(near, theta.A, 0))


def is_small(own: Bool[np.ndarray, "_ _"]) -> bool:
    """Tell a mark that is low and has little ink, as dots and dashes are; a thin i has little ink, too.

    >>> dash, stem = np.ones((4, 20), bool), np.ones((24, 3), bool)
    >>> is_small(dash), is_small(stem)
    (True, False)
    """
    rows = np.nonzero(own.any(1))[0]
    return bool(own.sum() < SMALL and (not len(rows) or np.ptp(rows) + 1 < LOW * HEIGHT / CELL))


def small_ones(own: Bool[np.ndarray, "C P1 P2"]) -> Bool[np.ndarray, " C"]:
    """Tell the classes that have little ink, as dots and dashes."""
    return np.array([is_small(ink) for ink in own], bool)


def around_small(own: Bool[np.ndarray, "P1 P2"]) -> Bool[np.ndarray, "P1 P2"]:
    """Give the cells around a small mark, none for a large one."""
    return grown(own, ALONE, SIDE) & ~grown(own, 1) if is_small(own) else np.zeros_like(own)


def alone(cells: Float[np.ndarray, "P1 P2"], around: Bool[np.ndarray, "P1 P2"]) -> bool:
    """Tell whether there is no ink around a mark: in broken type, dots and dashes are pieces of letters."""
    return bool((cells[around] > INKED).sum() <= CROWDED * around.sum())


def _belongs(piece: Bool[np.ndarray, "P1 P2"], own: Bool[np.ndarray, "P1 P2"], gap: int) -> bool:
    if (piece & grown(own, gap)).any():
        return True
    a, b = (np.nonzero(mask.any(0))[0] for mask in (piece, own))
    shared = min(a.max(), b.max()) - max(a.min(), b.min()) + 1
    return bool(shared >= STACKED * min(np.ptp(a) + 1, np.ptp(b) + 1))


def laid(
    shape: tuple[int, int], c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], masks: Bool[np.ndarray, "C P1 P2"]
) -> Bool[np.ndarray, "G1 G2"]:
    """Give the cells that the masks of characters' classes cover, each laid where its frame is."""
    there = np.zeros(shape, bool)
    for k, (row, column) in zip(c, corner, strict=True):
        there[row : row + FRAME[0], column : column + FRAME[1]] |= masks[k]
    return there


def grown(mask: Bool[np.ndarray, "P1 P2"], by: int, beside: int | None = None) -> Bool[np.ndarray, "P1 P2"]:
    """Take in the cells up to `by` around a mask, or above and below it alone, up to `beside` on its sides."""
    across = by if beside is None else beside
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * across + 1, 2 * by + 1))
    return np.asarray(cv2.dilate(mask.astype(np.uint8), disc) > 0)
