"""Characters close up: what each pixel of the page says for a reading, against blank paper.

The evidence that chose the readings counts cells, which all instances of a class blur. Here a class is what its
instances on this page show once each lies where it fits best: their usual ink at every pixel, and how far they vary.
On long pen strokes ink says next to nothing, but missing ink does; pixels that other characters own say nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.cleaning.marks import INKED, LARGE, WIDEST, InkParts, ink_parts, long_strokes
from unblot.cleaning.passes import Character
from unblot.cleaning.stamps import MOST, Stamp, around, moved, placed
from unblot.inference.kernels_close import pixel_odds

SHARP = 0.9  # pixels: finer differences are the scanner's
LEAST_SPREAD, PAPER_SPREAD = 0.06, 0.08  # of ink
NORMAL = 1.48  # spreads of a normal distribution in its median distance from the median
FAR = 3.0  # spreads: what is farther off is dirt, or is worn off
RAREST = 0.005  # share of such pixels, at least
DARKENED = 0.97  # the share of pixels that strokes darken where they run
LEVELS = 1024  # of ink, for paper
EDGE = 5  # pixels: strokes with their edges
OVERLAP = 1.0  # log odds against a reading for each pixel of its ink that another owns: characters do not overlap


@dataclass(frozen=True)
class Look:
    """What the instances of a class show: their usual ink and its spread, on the pixels of their stamp."""

    ink: Float[np.ndarray, "h w"]
    spread: Float[np.ndarray, "h w"]


@dataclass(frozen=True)
class Closeup:
    """A page close up: its ink, pen strokes, classes, and the shares of pixels with too much and too little ink.

    `paper` is the log density of ink on paper, for each level of ink, beside strokes and on them; `fits` tells the
    parts of the ink that are no larger than writing.
    """

    ink: Float[np.ndarray, "H W"]
    strokes: Bool[np.ndarray, "H W"]
    paper: Float[np.ndarray, "2 L"]
    parts: InkParts
    fits: Bool[np.ndarray, " M"]
    stamps: dict[int, Stamp]
    looks: dict[int, Look]
    more: float
    less: float


@dataclass(frozen=True)
class Sight:
    """A reading on the page: where it lies, its own pixels, those its class has ink at, and what each says for it."""

    there: tuple[slice, slice]
    own: Bool[np.ndarray, "h w"]
    printed: Bool[np.ndarray, "h w"]
    odds: Float[np.ndarray, "h w"]

    @property
    def size(self) -> int:
        """How many pixels its class has ink at."""
        return int(self.printed.sum())


@dataclass(frozen=True)
class Lead:
    """New readings against old ones: the log odds, and what a pixel says for each of the new.

    How much of their ink is clear, and how much of the ink that is there for the old they have too.
    """

    odds: float
    clear: float
    explained: float
    support: list[float]


def look_closely(
    ink: Float[np.ndarray, "H W"], found: list[Character], stamps: dict[int, Stamp], height: float
) -> Closeup:
    """Learn what the characters on a page, each where it fits best, look like."""
    seen = cv2.GaussianBlur(ink, (0, 0), SHARP)
    members = defaultdict(list)
    for each in found:
        members[each.c].append(each)
    looks = {c: _look(seen, of_class, stamps[c]) for c, of_class in members.items()}
    counts = np.array([_far_off(seen, each, stamps[each.c], looks[each.c]) for each in found]).reshape(-1, 3)
    more, less, every = counts.sum(0)
    parts, fits, wide = pen_strokes(ink, height)
    more, less = (max(count / max(1, every), RAREST) for count in (more, less))
    steps = np.linspace(0, 1, LEVELS, dtype=np.float32)
    spread = np.full_like(steps, PAPER_SPREAD)
    paper = np.stack([_log_density(steps, spread, np.full_like(steps, e), less) for e in (more, DARKENED)])
    return Closeup(seen, wide, paper, parts, fits, stamps, looks, more, less)


def pen_strokes(
    ink: Float[np.ndarray, "H W"], height: float
) -> tuple[InkParts, Bool[np.ndarray, " M"], Bool[np.ndarray, "H W"]]:
    """Give the parts of the ink, those that are no larger than writing, and the long strokes in the others."""
    inked = ink > INKED
    parts = ink_parts(inked, ink)
    fits = (parts.tall < LARGE * height) & (parts.width < WIDEST * height)
    strokes = long_strokes(inked & ~fits[parts.label], height).astype(np.uint8)
    return parts, fits, cv2.dilate(strokes, np.ones((EDGE, EDGE), np.uint8)) > 0


def sight(view: Closeup, each: Character) -> Sight:
    """Look at a reading where most speaks for it, a pixel beside its place at most: above or below, then beside."""
    best, (odds, most) = each, _odds(view, each)
    for steps in (((-1, 0), (1, 0)), ((0, -1), (0, 1))):
        for place in [moved(best, *step) for step in steps]:
            new, total = _odds(view, place)
            if total > most:
                best, odds, most = place, new, total
    stamp = view.stamps[best.c]
    there, inner = placed(view.ink.shape, best, stamp)
    return Sight(there, stamp.own[inner], stamp.printed[inner], odds[inner])


def _odds(view: Closeup, each: Character) -> tuple[Float[np.ndarray, "h w"], float]:
    """Give log [p(ink | its class) / p(ink | paper)] of a reading's own pixels, 0 for others, and the sum."""
    stamp, look = view.stamps[each.c], view.looks[each.c]
    odds = np.zeros(stamp.own.shape, np.float32)
    place = each.box[1] - stamp.seam, each.box[0] - stamp.seam
    shares = np.float32(view.more), np.float32(DARKENED), np.float32(view.less)
    total = pixel_odds(view.ink, view.strokes, stamp.own, look.ink, look.spread, view.paper, *place, *shares, odds)
    return odds, total


def owned(view: Closeup, sights: Iterable[Sight]) -> Int[np.ndarray, "H W"]:
    """Count for every pixel the readings that own it."""
    count = np.zeros(view.ink.shape, np.int16)
    for each in sights:
        count[each.there] += each.own
    return count


def support(view: Closeup, count: Int[np.ndarray, "H W"], each: Sight) -> float:
    """Give what a pixel of a character says for it, the mean of those that are its alone."""
    return _mean(each.odds, each.own & (count[each.there] <= 1) & ~view.strokes[each.there])


def ahead(view: Closeup, count: Int[np.ndarray, "H W"], new: list[Sight], old: list[Sight]) -> Lead:
    """Compare readings with those that hold their place, which are among the counted owners, where nobody else owns."""
    everyone = [each.there for each in (*new, *old)]
    top, left = (min(there[axis].start for there in everyone) for axis in (0, 1))
    bottom, right = (max(there[axis].stop for there in everyone) for axis in (0, 1))
    others = count[top:bottom, left:right].copy()
    for each in old:
        others[_inside(each.there, top, left)] -= each.own
    free = others <= 0
    clear = free & ~view.strokes[top:bottom, left:right]
    sums, own = [], []
    for side in (new, old):
        best, covered, twice = np.zeros(free.shape, np.float32), np.zeros(free.shape, bool), 0
        for each in side:
            here = _inside(each.there, top, left)
            both = covered[here] & each.own
            best[here] = np.where(both, np.maximum(best[here], each.odds), best[here] + each.odds)
            covered[here] |= each.own
            twice += int((each.printed & ~free[here]).sum())
        sums.append(float(best[free].sum()) - OVERLAP * twice)
        own.append(covered)
    there = np.zeros(free.shape, bool)
    for each in old:
        there[_inside(each.there, top, left)] |= each.printed
    there &= clear & (view.ink[top:bottom, left:right] > INKED)
    mine = [clear[_inside(each.there, top, left)] for each in new]
    return Lead(
        sums[0] - sums[1],
        min(_mean(of_it, each.printed) for of_it, each in zip(mine, new, strict=True)),
        _mean(own[0], there) if there.any() else 1.0,
        [_mean(each.odds, of_it & each.own) for of_it, each in zip(mine, new, strict=True)],
    )


def _mean(values: np.ndarray, where: Bool[np.ndarray, "h w"]) -> float:
    return float(values[where].mean()) if where.any() else 0.0


def _look(seen: Float[np.ndarray, "H W"], members: list[Character], stamp: Stamp) -> Look:
    best = sorted(members, key=lambda each: -each.quality)[:MOST]
    cuts = np.stack([around(seen, each.box, stamp.seam) for each in best])
    usual = np.median(cuts, 0)
    spread = NORMAL * np.median(np.abs(cuts - usual), 0)
    return Look(usual.astype(np.float32), np.maximum(spread, LEAST_SPREAD).astype(np.float32))


def _far_off(seen: Float[np.ndarray, "H W"], each: Character, stamp: Stamp, look: Look) -> tuple[int, int, int]:
    """Count a character's pixels with far more and far less ink than its class has, and all."""
    off = ((around(seen, each.box, stamp.seam) - look.ink) / look.spread)[stamp.own]
    return int((off > FAR).sum()), int((off < -FAR).sum()), off.size


def _log_density(
    off: Float[np.ndarray, "*_"], spread: Float[np.ndarray, "*_"], more: Float[np.ndarray, "*_"], less: float
) -> Float[np.ndarray, "*_"]:
    """Give log [(1 - e) N(ink) + e], e being the share of pixels that dirt darkens, or where ink is worn off."""
    rare = np.where(off > 0, more, np.float32(less))
    normal = np.exp(-0.5 * np.square(off / spread)) / (np.float32(np.sqrt(2 * np.pi)) * spread)
    return np.asarray(np.log((1 - rare) * normal + rare))


def _inside(there: tuple[slice, slice], top: int, left: int) -> tuple[slice, slice]:
    rows, columns = there
    return slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left)
