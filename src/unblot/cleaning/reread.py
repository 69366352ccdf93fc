"""Characters read again where their ink is missing: a stroke beside a c makes it look like a d, but no whole one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from unblot.cleaning.passes import Character
from unblot.cleaning.stamps import Stamp, settled, shown

MORE = 0.008  # of its class's ink that the next reading must show beyond what a character shows,
SPREAD = 3.0  # and so many times what the weakest of the page's characters lack
WEAKEST = 0.15  # share of the page's characters
SURE = 0.9  # probability of a character below which its own ink stays as it is
DOUBT = 0.88  # the same, at most, of what is not sure for other reasons


def reread(
    ink: Float[np.ndarray, "H W"],
    found: list[Character],
    seconds: list[Character | None],
    stamps: dict[int, Stamp],
) -> list[Character]:
    """Take the second reading where it shows so much more of its ink; what lacks as much without one is doubtful."""
    if not found:
        return []
    own = [shown(ink, each, stamps[each.c]) for each in found]
    of_class = defaultdict(list)
    for each, share in zip(found, own, strict=True):
        of_class[each.c].append(share)
    usual = {c: max(float(np.median(shares)), MORE) for c, shares in of_class.items()}
    relative = [share / usual[each.c] for each, share in zip(found, own, strict=True)]
    lacking = MORE + SPREAD * max(0.0, 1 - float(np.quantile(relative, WEAKEST)))
    least = (1 - lacking) * float(np.median(own))  # a class that mixes letters shows less of its ink than others do
    usual = {c: max(share, least) for c, share in usual.items()}
    relative = [share / usual[each.c] for each, share in zip(found, own, strict=True)]
    read = []
    for each, second, share in zip(found, seconds, relative, strict=True):
        if share >= 1 - lacking:
            read.append(each)
            continue
        doubtful = doubted(each)
        if second is not None and second.c in usual:
            other = settled(ink, second, stamps[second.c])
            if shown(ink, other, stamps[other.c]) / usual[other.c] > share + lacking:
                doubtful = replace(doubted(other), runner_up=each.character)
        read.append(doubtful)
    return read


def doubted(each: Character) -> Character:
    """Make a character doubtful, if it is not."""
    return replace(each, posterior=min(each.posterior, DOUBT))
