"""Several causes on one page: every mark has one owner, the pattern with the most evidence first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from unblot.detection.candidates import Candidates
from unblot.grid import FRAME
from unblot.learning.windows import is_small

SHARED = 0.3  # of a character's own ink that may have another owner
MOST_TURNS = 10
COST = 60.0  # evidence that it takes to say what another character is, and where
COMPLETE = 0.25  # power of the share of its typical evidence that a candidate has
SURE = 0.6  # of its typical evidence that a sure character has
WHOLE = 0.2  # of the sure characters are less complete than whole ones, which are no pairs of smaller characters
CLOSE = 3.0  # cells between a class's example and where it was found again
FOUND_AGAIN = 0.5  # of a class's examples: otherwise others explain them, and the class is a part or a pair of these
LARGER = 1.8  # times the ink of a piece
COVERED = 0.6  # of a piece's ink
PIECE = 0.6  # of a class's examples
EXPLAINED, NEARLY = 0.95, 0.9  # of its evidence that the two characters of a pair have together, NEARLY if it is small,
PAIRED = 0.6  # for so many of its examples,
FREQUENT = 2  # and so many times as frequent


@dataclass(frozen=True)
class Ink:
    """A pattern's own ink: its cells, cut to the box around them, and the box's first row and column in the frame."""

    cells: Bool[np.ndarray, "h w"]
    top: int
    left: int

    @property
    def size(self) -> int:
        """How many cells it has."""
        return int(self.cells.sum())

    @property
    def middle(self) -> tuple[float, float]:
        """Row and column of the box's middle in the frame."""
        return self.top + self.cells.shape[0] / 2, self.left + self.cells.shape[1] / 2


def owners(
    found: Candidates,
    typical: Float[np.ndarray, " C"],
    rivals: list[Int[np.ndarray, " _"]],
    allowed: Bool[np.ndarray, " S"] | None = None,
    turns: int = MOST_TURNS,
) -> Int[np.ndarray, " s"]:
    """Choose candidates that explain the page best together, no two of them owning the same ink.

    The most evidence first; then, as long as that gains evidence, one that is not whole gives way to several that it
    kept out.
    """
    evidence = weighed(found, typical)
    order = np.argsort(-evidence, kind="stable")
    blocked = np.zeros(len(order), int)  # by how many of the chosen
    if allowed is not None:
        blocked[~allowed] = len(order)
    chosen = np.zeros(len(order), bool)

    def choose(k: int, sign: int) -> None:
        chosen[k] = sign > 0
        blocked[rivals[k]] += sign

    for k in order:
        if not blocked[k]:
            choose(int(k), 1)
    share = completeness(found, typical)
    whole = share > least_whole(share[chosen])
    for _ in range(turns):
        swapped = False
        for k in order[(chosen & ~whole)[order]][::-1]:
            instead = _best_of(rivals[k][blocked[rivals[k]] == 1], evidence, rivals)
            if instead and (evidence[instead] - COST).sum() > evidence[k] - COST:
                swapped = True
                choose(int(k), -1)
                for other in instead:
                    choose(other, 1)
        if not swapped:
            break
    return order[chosen[order]]


def completeness(found: Candidates, typical: Float[np.ndarray, " C"]) -> Float[np.ndarray, " S"]:
    """Give the share of its class's typical evidence that each candidate has."""
    return np.asarray(found.evidence / typical[found.c].clip(1e-6))


def sure_ones(found: Candidates, typical: Float[np.ndarray, " C"]) -> Bool[np.ndarray, " S"]:
    """Tell the candidates that have most of what is typical of their class."""
    return np.asarray(found.evidence > SURE * typical[found.c])


def least_whole(share: Float[np.ndarray, " s"]) -> float:
    """Give the share of its typical evidence that a whole character has at least: on worn pages that is less."""
    sure = share[share > SURE]
    return float(np.quantile(sure, WHOLE)) if len(sure) else 1.0


def weighed(found: Candidates, typical: Float[np.ndarray, " C"]) -> Float[np.ndarray, " S"]:
    """Count evidence less where much of what is typical of the class is missing: an n is also most of an m."""
    return np.asarray(found.evidence * np.clip(completeness(found, typical), 0, 1) ** COMPLETE)


def best_two(
    free: Int[np.ndarray, " r"],
    evidence: Float[np.ndarray, " S"],
    rivals: list[Int[np.ndarray, " _"]],
    broken: bool = False,
) -> list[int]:
    """Choose the two with most evidence together that are no rivals; none where there are no such two.

    In broken type, whose pieces explain whatever they are put together to, the first of all must be one of them.
    """
    order = free[np.argsort(-evidence[free], kind="stable")].tolist()
    best, most = [], -np.inf
    for n, one in enumerate(order[:1] if broken else order):
        if 2 * evidence[one] <= most:
            break
        shut = set(rivals[one].tolist())
        other = next((k for k in order[n + 1 :] if k not in shut), None)
        if other is not None and evidence[one] + evidence[other] > most:
            best, most = [one, other], evidence[one] + evidence[other]
    return best


def _best_of(
    free: Int[np.ndarray, " r"], evidence: Float[np.ndarray, " S"], rivals: list[Int[np.ndarray, " _"]]
) -> list[int]:
    """Choose the most evidence first among candidates that nothing else keeps out."""
    taken: list[int] = []
    shut: set[int] = set()
    for k in sorted(free.tolist(), key=lambda k: -evidence[k]):
        if k not in shut:
            taken.append(k)
            shut.update(rivals[k].tolist())
    return taken


def find_rivals(found: Candidates, inks: list[Ink]) -> list[Int[np.ndarray, " _"]]:
    """Give for every candidate the others that would own the same ink."""
    at = middles(found, inks)
    reach = np.array([np.hypot(*ink.cells.shape) / 2 for ink in inks])[found.c] if len(at) else np.zeros(0)
    size = np.array([ink.size for ink in inks])
    pairs = cKDTree(at).query_pairs(2 * reach.max(), output_type="ndarray") if len(at) else np.zeros((0, 2), int)
    near = np.abs(at[pairs[:, 0]] - at[pairs[:, 1]]).max(1, initial=0) < reach[pairs].sum(1)
    lists: list[list[int]] = [[] for _ in range(len(at))]
    for one, other in pairs[near].tolist():
        both = shared(inks[found.c[one]], found.corner[one], inks[found.c[other]], found.corner[other])
        if both > SHARED * min(size[found.c[one]], size[found.c[other]]):
            lists[one].append(other)
            lists[other].append(one)
    return [np.array(each, int) for each in lists]


def without(rivals: list[Int[np.ndarray, " _"]], gone: Bool[np.ndarray, " S"]) -> list[Int[np.ndarray, " _"]]:
    """Give the rivals of the candidates that are left, numbered as these are, when some are gone."""
    number = np.cumsum(~gone) - 1
    return [number[those[~gone[those]]] for those, lost in zip(rivals, gone, strict=True) if not lost]


def middles(found: Candidates, inks: list[Ink]) -> Float[np.ndarray, "S 2"]:
    """Give the row and column of the middle of each candidate's ink."""
    return np.asarray(found.corner + np.array([ink.middle for ink in inks])[found.c])


def standing_classes(
    found: Candidates,
    inks: list[Ink],
    rivals: list[Int[np.ndarray, " _"]],
    examples: list[Int[np.ndarray, "_ 2"]],
    worth: Float[np.ndarray, " C"],
    free: Bool[np.ndarray, " C"],
    broken: bool,
) -> Bool[np.ndarray, " C"]:
    """Tell the classes that find their own examples again, and are not a piece of a larger character there.

    Those that others explain fall, the least worth first. Only small marks that do not stand free are taken for pieces:
    an i is covered by whatever has two stems wherever another stem is close.
    """
    small = np.array([is_small(ink.cells) for ink in inks])
    standing = np.asarray((worth > COST) & ~_pairs(found, rivals, examples, worth, small, broken))
    while True:
        allowed = standing[found.c]
        left, mine = found[allowed], found[owners(found, worth, rivals, allowed, 0)]
        fallen = [
            c
            for c in np.nonzero(standing)[0]
            if _again(mine.corner[mine.c == c], examples[c]) < FOUND_AGAIN
            or (small[c] and not free[c] and _piece(int(c), left, inks, examples[c]) > PIECE)
        ]
        if not fallen:
            return standing
        fallen.sort(key=lambda c: worth[c])
        standing[fallen[: max(1, len(fallen) // 2)]] = False


def _pairs(
    found: Candidates,
    rivals: list[Int[np.ndarray, " _"]],
    examples: list[Int[np.ndarray, "_ 2"]],
    worth: Float[np.ndarray, " C"],
    small: Bool[np.ndarray, " C"],
    broken: bool,
) -> Bool[np.ndarray, " C"]:
    """Tell the classes that are two touching characters, most of whose examples two sure ones explain about as well.

    Both of these are much more frequent: an m is no r and n.
    """
    sure = sure_ones(found, worth)
    count = np.array([len(corners) for corners in examples])
    pairs, share = np.zeros(len(worth), bool), np.where(small, NEARLY, EXPLAINED)
    for c, corners in enumerate(examples):
        own = np.nonzero(found.c == c)[0]
        near, which = cKDTree(found.corner[own]).query(corners) if len(own) else (np.zeros(0), np.zeros(0, int))
        explained = 0
        for k in own[which[near <= CLOSE]].tolist():
            others = rivals[k][sure[rivals[k]] & (count[found.c[rivals[k]]] >= FREQUENT * count[c])]
            two = best_two(others, found.evidence, rivals, broken)
            explained += bool(two) and found.evidence[two].sum() > share[c] * found.evidence[k]
        pairs[c] = explained > PAIRED * len(corners)
    return pairs


def _piece(c: int, found: Candidates, inks: list[Ink], examples: Int[np.ndarray, "N 2"]) -> float:
    """Give the share of a class's examples that lie in the ink of much larger characters with more evidence."""
    size = np.array([ink.size for ink in inks])
    larger = found[size[found.c] > LARGER * size[c]]
    if not len(larger.c):
        return 0.0
    own = found[found.c == c]
    tree = cKDTree(middles(larger, inks))
    near_own = cKDTree(own.corner) if len(own.c) else None
    inside = 0
    for corner in examples:
        here = near_own.query_ball_point(corner, CLOSE) if near_own is not None else []
        evidence = max((float(own.evidence[k]) for k in here), default=0.0)
        for k in tree.query_ball_point(corner + inks[c].middle, np.hypot(*FRAME) / 2):
            whole = inks[larger.c[k]]
            covers = shared(inks[c], corner, whole, larger.corner[k]) > COVERED * size[c]
            if covers and larger.evidence[k] > evidence:
                inside += 1
                break
    return inside / len(examples)


def _again(places: Int[np.ndarray, "M 2"], examples: Int[np.ndarray, "N 2"]) -> float:
    """Give the share of examples that were found again."""
    return float((cKDTree(places).query(examples)[0] <= CLOSE).mean()) if len(places) else 0.0


def shared(ink: Ink, corner: np.ndarray, other: Ink, place: np.ndarray) -> int:
    """Count the cells that are own ink of both."""
    down, right = (int(v) for v in place - corner + (other.top - ink.top, other.left - ink.left))
    rows = slice(max(0, down), min(ink.cells.shape[0], down + other.cells.shape[0]))
    columns = slice(max(0, right), min(ink.cells.shape[1], right + other.cells.shape[1]))
    if rows.start >= rows.stop or columns.start >= columns.stop:
        return 0
    inner = other.cells[rows.start - down : rows.stop - down, columns.start - right : columns.stop - right]
    return int(np.count_nonzero(ink.cells[rows, columns] & inner))
