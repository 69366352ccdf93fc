"""Where candidates stand: on the lines of those that are sure, where the page has lines."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.detection.candidates import Candidates
from unblot.detection.lines import find_lines, on_a_line
from unblot.detection.owners import sure_ones

LEAST_EVIDENCE = 0.3  # of what a class's examples have: less is a stroke that looks like a part of it
ON_A_LINE, OFF_LINES = 0.2, 0.6  # the same, where the page has lines
MOST_OF_THEM, FEW_OF_THEM = 0.5, 0.2  # of a class, of a class of small marks,
MANY = 10  # if so many are on lines: a few are by chance
OWNS = 0.03  # of the places that look like a class: one that owns less is a piece of other characters


def _level(
    found: Candidates, among: Candidates, typical: Float[np.ndarray, " C"], small: Bool[np.ndarray, " C"]
) -> Bool[np.ndarray, " S"] | None:
    """Tell which candidates stand on lines with those `among` others that are sure; None where the page has no lines.

    Small marks stand on lines as well, but do not tell where these are: the dots of i are level with each other.
    """
    sure = among[sure_ones(among, typical)]
    lines = find_lines(sure.c, sure.corner, len(typical))
    large = sure[~small[sure.c]]
    if lines is None or not len(large.c):
        return None
    return on_a_line(lines, (large.c, large.corner), found.c, found.corner)


def mostly(
    found: Candidates, typical: Float[np.ndarray, " C"], small: Bool[np.ndarray, " C"]
) -> Bool[np.ndarray, " C"]:
    """Tell the classes of which most are sure and, where the page has lines, stand on them: not those of chance.

    Of small marks fewer need to, since crumbs and dots look like them; those that do not are left out anyway.
    """

    def count(those: Bool[np.ndarray, " S"]) -> Int[np.ndarray, " C"]:
        return np.bincount(found.c[those], minlength=len(typical))

    level, everyone = _level(found, found, typical, small), np.ones(len(found.c), bool)
    lined = everyone if level is None else level
    left = lined | ~small[found.c]
    sure = left & sure_ones(found, typical)
    many = small & (count(lined) >= MANY)
    least = np.where(many, FEW_OF_THEM, MOST_OF_THEM) * count(everyone)
    return np.asarray((count(sure) >= MOST_OF_THEM * count(left)) & (count(lined) >= least))


def pieces(found: Candidates, chosen: Candidates, typical: Float[np.ndarray, " C"]) -> Bool[np.ndarray, " C"]:
    """Tell the classes that own hardly any of the places that surely look like them."""

    def sure(those: Candidates) -> Int[np.ndarray, " C"]:
        return np.bincount(those.c[sure_ones(those, typical)], minlength=len(typical))

    return np.asarray(sure(chosen) < OWNS * sure(found))


def least_evidence(
    found: Candidates, typical: Float[np.ndarray, " C"], small: Bool[np.ndarray, " C"]
) -> Float[np.ndarray, " S"]:
    """Give the evidence that each candidate needs: less on a line, more beside it, where the page has lines."""
    level = _level(found, found, typical, small)
    if level is None:
        return np.asarray(LEAST_EVIDENCE * typical[found.c])
    return np.asarray(np.where(level, ON_A_LINE, OFF_LINES) * typical[found.c])


def specks(
    found: Candidates, among: Candidates, typical: Float[np.ndarray, " C"], small: Bool[np.ndarray, " C"]
) -> Bool[np.ndarray, " S"]:
    """Tell the small marks beside the lines of others, where the page has lines: dirt, or dots of letters."""
    level = _level(found, among, typical, small)
    return np.zeros(len(found.c), bool) if level is None else np.asarray(small[found.c] & ~level)
