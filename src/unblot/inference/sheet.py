"""A page as patterns see it: cells of ink, what they are without a character, and where dirt lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.inference.kernels_wear import toned_evidence, worn_evidence
from unblot.model.wear import WAYS, Pattern

DIRTY, LOST = 0.03, 0.02  # shares of a character's cells that dirt darkens, and that are worn off
STRUCK = 0.97  # of the cells that a long stroke runs over, those that it darkens
ROUGH = 0.12  # least noise of a cell while nothing but the tone is fitted


@dataclass(frozen=True)
class Sheet:
    """Cells of ink; the log density that each has if no character covers it; the share of such that dirt darkens."""

    cells: Float[np.ndarray, "G1 G2"]
    log_H: Float[np.ndarray, "G1 G2"]
    dirt: Float[np.ndarray, "G1 G2"]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return self.cells.shape[0], self.cells.shape[1]

    def frames(self, corners: Int[np.ndarray, "N 2"], size: tuple[int, int]) -> Float[np.ndarray, "N P1 P2"]:
        """Cut frames out of the cells."""
        return cut(self.cells, corners, size)


@dataclass(frozen=True)
class Impressions:
    """How candidates of one class look: evidence, the ink each is thought to have, masks, log odds, and wear."""

    evidence: Float[np.ndarray, " N"]
    shown: Float[np.ndarray, "N D"]
    mask: Float[np.ndarray, "N D"]
    odds: Float[np.ndarray, "N D"]
    f: Float[np.ndarray, "N Q"]


def lay_out(
    cells: Float[np.ndarray, "G1 G2"], log_H: Float[np.ndarray, "G1 G2"], strokes: Bool[np.ndarray, "G1 G2"]
) -> Sheet:
    """Take a page's cells with what they are without characters, and where long strokes run."""
    dirt = np.where(strokes, np.float32(STRUCK), np.float32(DIRTY))
    spoilt = np.log((1 - dirt) * np.exp(log_H) + dirt)
    return Sheet(*(np.ascontiguousarray(v, np.float32) for v in (cells, spoilt, dirt)))


def look(sheet: Sheet, pattern: Pattern, corners: Int[np.ndarray, "N 2"]) -> Impressions:
    """Look at places for a pattern: log p(Y | c, x) - log p(Y | no character), wear integrated out (Eq. 11)."""
    N, D = len(corners), len(pattern.w)
    evidence, f = np.empty(N, np.float32), np.zeros((N, WAYS), np.float32)
    shown, mask, odds = (np.empty((N, D), np.float32) for _ in range(3))
    worn_evidence(
        *(sheet.cells, sheet.log_H, sheet.dirt, np.float32(LOST), pattern.rows, pattern.columns),
        *(pattern.w, pattern.V, pattern.sigma, pattern.veil, pattern.whole, corners, evidence, shown, mask, odds, f),
    )
    return Impressions(evidence, shown, mask, odds, f)


def glance(sheet: Sheet, pattern: Pattern, corners: Int[np.ndarray, "N 2"]) -> Float[np.ndarray, " N"]:
    """Look at places for a pattern quickly: only its tone is fitted."""
    evidence = np.empty(len(corners), np.float32)
    toned_evidence(
        *(sheet.cells, sheet.log_H, sheet.dirt, np.float32(LOST), pattern.rows, pattern.columns),
        *(pattern.w, np.maximum(pattern.sigma, np.float32(ROUGH)), pattern.veil, corners, evidence),
    )
    return evidence


def cut(values: np.ndarray, corners: Int[np.ndarray, "N 2"], size: tuple[int, int]) -> np.ndarray:
    """Cut frames of a size out of a map."""
    windows = np.lib.stride_tricks.sliding_window_view(values, size)
    return np.asarray(windows[corners[:, 0], corners[:, 1]])
