"""Where on the whole page a pattern may stand: coarse correlation everywhere, the evidence of Eq. 11 at its maxima."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as nn
from jaxtyping import Float, Int
from scipy.fft import next_fast_len
from torch import Tensor

from unblot.detection.quality import quality
from unblot.grid import FRAME, Grid
from unblot.inference.batch import States
from unblot.inference.masks import mask_posterior
from unblot.learning.windows import evidence, frames
from unblot.model.likelihood import terms
from unblot.model.theta import Theta

COARSE = 2  # cells
LEAST_FIT = 0.45  # correlation with a pattern where it is masked
USED = 0.3  # masks below this play no part in the correlation
LEAST_CONTRAST = 0.02  # variance of ink below which there is nothing to correlate with
NEIGHBOURHOOD, MOST_THERE = 10, 8  # cells, candidates
HOPELESS = -150.0  # evidence from where no step of a cell or two leads to a character
CHUNK = 4000


@dataclass(frozen=True)
class Candidates:
    """Classes, the corners of their frames on the grid, the evidence against the background, and the quality."""

    c: Int[np.ndarray, " S"]
    corner: Int[np.ndarray, "S 2"]
    evidence: Float[np.ndarray, " S"]
    quality: Float[np.ndarray, " S"]

    def __getitem__(self, chosen: np.ndarray) -> Candidates:
        """Take some of them."""
        return Candidates(self.c[chosen], self.corner[chosen], self.evidence[chosen], self.quality[chosen])


def find_candidates(grid: Grid, log_H: Float[Tensor, "G1 G2"], theta: Theta) -> Candidates:
    """Find every place where the page shows more of a pattern than the background explains."""
    c, corner = _maxima(grid, theta)
    corner = grid.inside(corner)
    found = np.zeros(0, np.float32)
    for step, least in ((2, HOPELESS), (1, 0.0)):
        c, corner, found = _climb(grid, log_H, theta, c, corner, step)
        good = found > least
        c, corner, found = c[good], corner[good], found[good]
    return Candidates(c, corner, found, _qualities(grid, log_H, theta, c, corner))


def _maxima(grid: Grid, theta: Theta) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, "S 2"]]:
    """Give where the correlation of each pattern with what lies under its mask has its maxima, on coarser cells."""
    page = _quick(_coarser(grid.cells[..., 0]))
    shape = (page.shape[0] - FRAME[0] // COARSE + 1, page.shape[1] - FRAME[1] // COARSE + 1)
    spectra = [torch.fft.rfft2(v) for v in (page, page * page)]

    def slide(spectrum: Tensor, pattern: Tensor) -> Tensor:
        kernel = torch.fft.rfft2(pattern, s=page.shape)
        everywhere: Tensor = torch.fft.irfft2(spectrum * kernel.conj(), s=page.shape)
        return everywhere[: shape[0], : shape[1]]

    classes, rows, columns, fits = [], [], [], []
    for k in range(theta.C):
        mask = _coarser(torch.where(theta.A[k] > USED, theta.A[k], 0))
        picture, total = _coarser(theta.W[k, ..., 0]), mask.sum()
        weighted = mask * (picture - (mask * picture).sum() / total)
        contrast = (weighted**2 / mask.clamp_min(1e-6)).sum().sqrt()
        mean, square = slide(spectra[0], mask) / total, slide(spectra[1], mask) / total
        spread = (square - mean**2).clamp_min(LEAST_CONTRAST) * total
        fit = slide(spectra[0], weighted) / (contrast * spread.sqrt())
        row, column = ((fit >= _highest(fit)) & (fit > LEAST_FIT)).nonzero(as_tuple=True)
        classes.append(torch.full_like(row, k))
        rows.append(row)
        columns.append(column)
        fits.append(fit[row, column])
    c, y, x, fitness = (torch.cat(v).cpu().numpy() for v in (classes, rows, columns, fits))
    corner = COARSE * np.stack([y, x], 1)
    best = _best_there(corner, fitness)
    return c[best], corner[best]


def _highest(values: Float[Tensor, "H W"]) -> Float[Tensor, "H W"]:
    """Give the highest of every value and the eight around it."""
    wide = nn.pad(values, (1, 1, 1, 1), value=-torch.inf)
    rows = torch.maximum(torch.maximum(wide[:-2], wide[1:-1]), wide[2:])
    return torch.maximum(torch.maximum(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])


def _coarser(values: Float[Tensor, "H W"]) -> Float[Tensor, "h w"]:
    return nn.avg_pool2d(values[None, None], COARSE)[0, 0]


def _quick(page: Float[Tensor, "H W"]) -> Float[Tensor, "h w"]:
    """Add paper up to a size that Fourier transforms are quick at."""
    rows, columns = (next_fast_len(int(length), real=True) for length in page.shape)
    return nn.pad(page, (0, columns - page.shape[1], 0, rows - page.shape[0]))


def _best_there(corner: Int[np.ndarray, "S 2"], fit: Float[np.ndarray, " S"]) -> Int[np.ndarray, " s"]:
    """Choose those that fit best in each neighbourhood."""
    place = corner // NEIGHBOURHOOD
    key = place[:, 0] * (1 + place[:, 1].max(initial=0)) + place[:, 1]
    order = np.lexsort((-fit, key))
    number = np.arange(len(order))
    first = np.r_[True, np.diff(key[order]) != 0][: len(order)]
    rank = number - np.maximum.accumulate(np.where(first, number, 0))
    return np.sort(order[rank < MOST_THERE])


def _climb(
    grid: Grid,
    log_H: Float[Tensor, "G1 G2"],
    theta: Theta,
    c: Int[np.ndarray, " S"],
    corner: Int[np.ndarray, "S 2"],
    step: int,
) -> tuple[Int[np.ndarray, " s"], Int[np.ndarray, "s 2"], Float[np.ndarray, " s"]]:
    """Move every candidate to the best of the nine places around it; those that meet become one."""
    around = np.array([(i, j) for i in (-step, 0, step) for j in (-step, 0, step)])
    tried, size = grid.inside((corner[None] + around[:, None]).reshape(-1, 2)), (theta.C, *grid.shape)
    key, which = np.unique(np.ravel_multi_index((np.tile(c, len(around)), *tried.T), size), return_inverse=True)
    different = np.stack(np.unravel_index(key, size), 1)
    found = evidence(grid, log_H, theta, different[:, 0], np.ascontiguousarray(different[:, 1:]))
    of_each = found[which.reshape(len(around), -1)]
    chosen = which.reshape(len(around), -1)[of_each.argmax(0), np.arange(len(c))]
    kept = np.unique(chosen)
    return different[kept, 0], np.ascontiguousarray(different[kept, 1:]), found[kept]


def _qualities(
    grid: Grid, log_H: Float[Tensor, "G1 G2"], theta: Theta, c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"]
) -> Float[np.ndarray, " S"]:
    """Give the quality (Eq. 16) of each candidate."""
    tables = terms(theta, FRAME)
    parts = [np.zeros(0, np.float32)]
    for begin in range(0, len(c), CHUNK):
        some = slice(begin, begin + CHUNK)
        of_class = torch.from_numpy(c[some]).to(theta.W.device)
        batch = frames(grid, log_H, corner[some])
        states = States(torch.arange(batch.N, device=of_class.device), of_class, torch.zeros_like(of_class))
        A = -torch.expm1(tables.absent[of_class])
        parts.append(quality(A, mask_posterior(batch, tables, states)).cpu().numpy())
    return np.concatenate(parts)
