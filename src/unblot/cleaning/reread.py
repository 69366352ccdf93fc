"""Characters that read otherwise close up: a worn d whose stem alone was found, two l that were taken for an h."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Int

from unblot.cleaning.closeup import Closeup, Lead, Sight, ahead, owned, sight, support
from unblot.cleaning.passes import Character
from unblot.detection.candidates import Candidates
from unblot.threads import side_by_side

SURE = 0.9  # probability of a character below which its own ink stays as it is
DOUBT, DOUBTED = 0.89, 0.04  # the same, at most, of what is not sure for other reasons, and by how much less
CLOSE = 0.5  # of the evidence of those that hold its place that another reading must have
MOST_HELD = 2  # characters that one takes the place of
PAIRS = 6  # of readings, those with the most evidence, that are tried for one character
WITHIN = 0.5  # of the ink of both that lies in the box of that character
CLEAR = 0.5  # of a reading's ink that neither others nor strokes hide
EXPLAINED = 0.7  # of the ink that is there for those that hold its place that a reading must have too
COST = 1150.0  # log odds that each further character costs: several fit more by chance than one
BETTER = 240.0  # log odds, less that cost, by which a reading is taken
NEAR = 700.0  # log odds by which the next reading must be behind, or the character is doubtful
CLOSEST = 200.0  # the same for what is unlikely, or it is left out
USUAL, FEW = 0.1, 2  # of a class's characters that two of others fit: more, and the class is like that
ALL, ENOUGH = 0.95, 0.78  # of what a class's pixels say: to be found close up, and not to be doubtful
HALF, NONE = 0.5, 0.25  # the same: less has an unlikely character, or one that is none
UNLIKELY = 0.5  # probability
CONFIRMED = 1.8  # times the odds of a character that nothing disputes


@dataclass(frozen=True)
class Challenge:
    """Another reading of a place: candidates, those that hold it, the log odds, and whether it is whole and clear."""

    new: tuple[int, ...]
    old: tuple[int, ...]
    odds: float
    whole: bool


@dataclass(frozen=True)
class Again:
    """A character as it reads close up, and how doubtful that makes it: not at all up to 0, wholly at 1."""

    character: Character
    doubt: float

    @property
    def probability(self) -> float:
        """How likely it is: what was sure, and nothing disputes close up, is likelier than it was."""
        before = self.character.posterior
        if self.doubt > 0:
            return min(before, DOUBT - DOUBTED * self.doubt)
        return before if before < SURE else before * CONFIRMED / (before * CONFIRMED + 1 - before)


def reread(
    view: Closeup,
    held: dict[int, Character],
    found: Candidates,
    rivals: list[Int[np.ndarray, " _"]],
    mixed: set[int],
    read: Callable[[int], Character],
) -> list[Again]:
    """Read characters anew close up, given the candidates' numbers that hold the page and how to read another.

    What nobody holds and looks like its class is found; the better reading is taken. What has a reading nearly as good,
    or lacks much of what its class shows, is doubtful; dirt is what shows next to nothing of its class, and what was
    unlikely before. Classes that mix letters explain too much, and are not taken.
    """
    sights = dict(zip(held, side_by_side(lambda each: sight(view, each), held.values()), strict=True))
    count = owned(view, sights.values())
    usual = _usual(view, count, held, sights)
    readings: dict[int, Character] = {}

    def look(k: int) -> Sight:
        if k not in sights:
            readings[k] = read(k)
            sights[k] = sight(view, readings[k])
        return sights[k]

    def compare(new: tuple[int, ...], old: tuple[int, ...]) -> tuple[Lead, float]:
        lead = ahead(view, count, [look(k) for k in new], [sights[k] for k in old])
        return lead, min(says / usual[int(found.c[k])] for k, says in zip(new, lead.support, strict=True))

    holding = dict(held)
    plain = usual.keys() - mixed
    open_to = [k for k in range(len(found.c)) if k not in held and int(found.c[k]) in plain]
    for k in sorted(open_to, key=lambda k: -float(found.evidence[k])):
        if not holding.keys() & set(rivals[k].tolist()):
            lead, share = compare((k,), ())
            if lead.clear > CLEAR and share > ALL:
                holding[k] = readings[k]
                count[sights[k].there] += sights[k].own
    challenges, median = [], float(np.median([sights[k].size for k in holding] or [0]))
    for new, old in _pairings(holding, found, rivals, open_to):
        lead, share = compare(new, old)
        inside = len(new) == 1 or _within([sights[k] for k in new], sights[old[0]])
        whole = lead.clear > CLEAR and lead.explained > EXPLAINED and share > HALF and inside
        size = max(sum(sights[k].size for k in side) for side in (new, old))
        odds = (lead.odds - COST * (len(new) - len(old))) * max(1.0, median / max(1, size))
        challenges.append(Challenge(new, old, odds, whole))
    left, nearest = _taken(challenges, holding, found, rivals, readings)
    count = owned(view, (sights[k] for k in left))
    shares = {k: support(view, count, sights[k]) / usual[each.c] for k, each in left.items()}
    return [
        Again(each, max((ENOUGH - shares[k]) / (ENOUGH - NONE), (nearest[k] + NEAR) / (BETTER + NEAR)))
        for k, each in left.items()
        if shares[k] > NONE and (each.posterior > UNLIKELY or (shares[k] > HALF and nearest[k] < -CLOSEST))
    ]


def _usual(
    view: Closeup, count: Int[np.ndarray, "H W"], held: dict[int, Character], sights: dict[int, Sight]
) -> dict[int, float]:
    """Give what the pixels of each class's characters say for them, the median."""
    values = defaultdict(list)
    for k, each in held.items():
        values[each.c].append(support(view, count, sights[k]))
    return {c: max(float(np.median(of_class)), np.finfo(float).tiny) for c, of_class in values.items()}


def _pairings(
    holding: dict[int, Character], found: Candidates, rivals: list[Int[np.ndarray, " _"]], open_to: list[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Give the candidates, and the pairs of them, that may be what stands where others are held."""
    pairings: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    instead = defaultdict(list)
    for k in open_to:
        old = tuple(int(rival) for rival in rivals[k] if int(rival) in holding)
        if k in holding or not 0 < len(old) <= MOST_HELD:
            continue
        if found.c[k] not in found.c[list(old)] and found.evidence[k] > CLOSE * found.evidence[list(old)].sum():
            pairings.append(((k,), old))
        if len(old) == 1:
            instead[old[0]].append(k)
    for one, others in instead.items():
        apart = [pair for pair in combinations(others, 2) if pair[1] not in rivals[pair[0]]]
        apart = [pair for pair in apart if found.c[one] not in found.c[list(pair)]]
        apart.sort(key=lambda pair: -float(found.evidence[list(pair)].sum()))
        pairings += [(pair, (one,)) for pair in apart[:PAIRS]]
    return pairings


def _within(new: list[Sight], old: Sight) -> bool:
    """Tell whether readings stand where another does, each with most of its ink: others explain what none does yet."""

    def inside(each: Sight) -> float:
        starts = [max(0, span.start - mine.start) for span, mine in zip(old.there, each.there, strict=True)]
        stops = [max(0, span.stop - mine.start) for span, mine in zip(old.there, each.there, strict=True)]
        part = each.printed[starts[0] : stops[0], starts[1] : stops[1]]
        return float(part.sum()) / max(1, each.size)

    return min(inside(each) for each in new) > WITHIN


def _taken(
    challenges: list[Challenge],
    holding: dict[int, Character],
    found: Candidates,
    rivals: list[Int[np.ndarray, " _"]],
    readings: dict[int, Character],
) -> tuple[dict[int, Character], dict[int, float]]:
    """Let the challenges that win take their places; give who holds them now, and the next reading's log odds."""
    left, nearest = dict(holding), dict.fromkeys(holding, -np.inf)
    for each in challenges:
        if each.whole:
            nearest.update({k: max(nearest[k], each.odds) for k in each.old})
    for each in _better(challenges, holding, found):
        taken = {int(rival) for k in each.new for rival in rivals[k]} - set(each.old)
        if all(k in left for k in each.old) and not taken & left.keys():
            before = [left.pop(k).character for k in each.old]
            left.update({k: replace(readings[k], runner_up=before[0]) for k in each.new})
            nearest.update(dict.fromkeys(each.new, -each.odds))
    return left, nearest


def _better(challenges: list[Challenge], holding: dict[int, Character], found: Candidates) -> list[Challenge]:
    """Choose the challenges that win, the best first; no pairs that many characters of a class would lose to."""
    size = Counter(each.c for each in holding.values())
    losing: dict[tuple[tuple[int, ...], ...], set[int]] = defaultdict(set)
    for each in challenges:
        if each.odds > -COST * (len(each.new) - len(each.old)) and each.whole:
            losing[_kind(each, found)].update(each.old)

    def wins(each: Challenge) -> bool:
        usual = len(losing[_kind(each, found)]) > max(FEW, USUAL * max(size[holding[k].c] for k in each.old))
        better = each.odds > BETTER and each.whole
        return better and (len(each.new) == 1 or not usual)

    return sorted(filter(wins, challenges), key=lambda each: -each.odds)


def _kind(each: Challenge, found: Candidates) -> tuple[tuple[int, ...], ...]:
    """Give the classes of a challenge's readings, new and old."""
    return tuple(tuple(sorted(int(found.c[k]) for k in side)) for side in (each.new, each.old))
