"""Several causes on one page: every mark has one owner, the pattern with the most evidence first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from unblot.detection.candidates import Candidates

SHARED = 0.3  # of a character's own ink that may have another owner
CLOSE = 3.0  # cells between a class's example and where it was found again
FOUND_AGAIN = 0.5  # of a class's examples: otherwise others explain them, and the class is a part or a pair of these
CORRELATED = 16.0  # neighbouring cells that say the same: evidence counts that much less as a probability
RIVAL = 0.5  # of a character's own ink that another reading must cover


@dataclass(frozen=True)
class Ink:
    """A pattern's own ink: its cells, cut to the box around them, and the box's first row and column in the frame."""

    cells: Bool[np.ndarray, "h w"]
    top: int
    left: int


def owners(found: Candidates, inks: list[Ink], shape: tuple[int, int]) -> Int[np.ndarray, " s"]:
    """Choose candidates by their evidence; one that would own what is another's already is left out."""
    owned = np.zeros(shape, bool)
    chosen = []
    for k in np.argsort(-found.evidence, kind="stable"):
        ink = inks[found.c[k]]
        part = _under(owned, ink, found.corner[k])
        if (part & ink.cells).sum() <= SHARED * ink.cells.sum():
            part |= ink.cells
            chosen.append(int(k))
    return np.array(chosen, int)


def standing_classes(
    found: Candidates,
    inks: list[Ink],
    examples: list[Int[np.ndarray, "_ 2"]],
    worth: Float[np.ndarray, " C"],
    shape: tuple[int, int],
) -> Bool[np.ndarray, " C"]:
    """Tell the classes that find their own examples again; those that others explain fall, the least worth first."""
    standing = worth > 0
    while True:
        left = found[standing[found.c]]
        mine = left[owners(left, inks, shape)]
        fallen = [c for c in np.nonzero(standing)[0] if _again(mine.corner[mine.c == c], examples[c]) < FOUND_AGAIN]
        if not fallen:
            return standing
        fallen.sort(key=lambda c: worth[c])
        standing[fallen[: max(1, len(fallen) // 2)]] = False


def probabilities(
    found: Candidates, chosen: Int[np.ndarray, " s"], inks: list[Ink], character: Int[np.ndarray, " C"]
) -> tuple[Float[np.ndarray, " s"], list[int | None]]:
    """Give the probability of each chosen candidate's character among all readings of its ink, and the next likely."""
    middle = np.array([(ink.top + ink.cells.shape[0] / 2, ink.left + ink.cells.shape[1] / 2) for ink in inks])
    at = found.corner + middle[found.c]
    tree = cKDTree(at) if len(at) else None
    values, seconds = [], []
    for k in chosen:
        ink = inks[found.c[k]]
        scores = {int(character[found.c[k]]): float(found.evidence[k])}
        assert tree is not None
        for other in tree.query_ball_point(at[k], max(ink.cells.shape) / 2):
            number = int(character[found.c[other]])
            if number < 0 or _covered(ink, found.corner[k], inks[found.c[other]], found.corner[other]) < RIVAL:
                continue
            scores[number] = max(scores.get(number, 0.0), float(found.evidence[other]))
        mine = int(character[found.c[k]])
        weights = {number: np.exp((score - scores[mine]) / CORRELATED) for number, score in scores.items()}
        nothing = np.exp(-scores[mine] / CORRELATED)
        values.append(1 / (sum(weights.values()) + nothing))
        others = {number: weight for number, weight in weights.items() if number != mine}
        seconds.append(max(others, key=lambda number: others[number]) if others else None)
    return np.array(values, np.float64), seconds


def _under(owned: np.ndarray, ink: Ink, corner: np.ndarray) -> np.ndarray:
    top, left = int(corner[0]) + ink.top, int(corner[1]) + ink.left
    return owned[top : top + ink.cells.shape[0], left : left + ink.cells.shape[1]]


def _again(places: Int[np.ndarray, "M 2"], examples: Int[np.ndarray, "N 2"]) -> float:
    """Give the share of examples that were found again."""
    return float((cKDTree(places).query(examples)[0] <= CLOSE).mean()) if len(places) else 0.0


def _covered(ink: Ink, corner: np.ndarray, other: Ink, place: np.ndarray) -> float:
    """Give the share of a pattern's own ink that another's covers."""
    down, right = (int(v) for v in place - corner + (other.top - ink.top, other.left - ink.left))
    rows = slice(max(0, down), min(ink.cells.shape[0], down + other.cells.shape[0]))
    columns = slice(max(0, right), min(ink.cells.shape[1], right + other.cells.shape[1]))
    if rows.start >= rows.stop or columns.start >= columns.stop:
        return 0.0
    inner = other.cells[rows.start - down : rows.stop - down, columns.start - right : columns.stop - right]
    return float((ink.cells[rows, columns] & inner).sum() / ink.cells.sum())
