"""How likely a character is what it was read as: a probability that was fitted to pages whose characters are known."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import cKDTree
from scipy.special import expit

from unblot.detection.candidates import Candidates
from unblot.detection.owners import Ink, completeness, middles, shared

RIVAL = 0.5  # of a character's own ink that another reading must cover
FAR = 0.5  # a rival with less than that share of the evidence says nothing
# Log odds, fitted to pages whose characters are known: for all; for the share of its class's typical evidence that a
# character has; for the share that its best rival has of the evidence of all whose ink that covers, beyond FAR; for the
# inverse of its class's size; and for the page's mean of the rivals' shares, since in worn type all have rivals.
ODDS, WHOLE, CLOSE, RARE, CONFUSED = 1.4, 5.6, -3.7, -9.3, -11.6


def probabilities(
    chosen: Candidates,
    readings: Candidates,
    inks: list[Ink],
    character: Int[np.ndarray, " C"],
    typical: Float[np.ndarray, " C"],
) -> tuple[Float[np.ndarray, " s"], list[int | None]]:
    """Give how likely each chosen character is right among all readings of its ink, and the number of the next one."""
    if not len(chosen.c):
        return np.zeros(0), []
    size = np.array([ink.size for ink in inks])

    def covers(k: int, other: int) -> bool:
        """Tell whether a reading is another one of the ink of a chosen character."""
        c, number = chosen.c[k], character[readings.c[other]]
        if number in (-1, character[c]):
            return False
        both = shared(inks[c], chosen.corner[k], inks[readings.c[other]], readings.corner[other])
        return bool(both >= RIVAL * size[c])

    at, tree = middles(chosen, inks), cKDTree(middles(readings, inks))
    others: list[list[int]] = []
    against = np.zeros(len(readings.c))  # the evidence of those whose ink each reading covers
    for k, c in enumerate(chosen.c):
        near = tree.query_ball_point(at[k], max(inks[c].cells.shape) / 2, return_sorted=True)
        others.append([other for other in near if covers(k, other)])
        against[others[k]] += chosen.evidence[k]
    shares = readings.evidence / against.clip(1e-6)
    seconds = [max(those, key=lambda other: shares[other], default=None) for those in others]
    rivals = np.array([0.0 if second is None else shares[second] for second in seconds])
    whole = np.clip(completeness(chosen, typical), 0, 1)
    close = np.clip(rivals - FAR, 0, None)
    rare = 1 / np.bincount(chosen.c)[chosen.c]
    return np.asarray(expit(ODDS + WHOLE * whole + CLOSE * close + RARE * rare + CONFUSED * close.mean())), seconds
