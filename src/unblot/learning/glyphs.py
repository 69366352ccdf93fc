"""Classes of a whole page: the M-step on impressions whose class and place are given, wear taken out of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.grid import FRAME
from unblot.inference.sheet import DIRTY, Sheet, look
from unblot.learning.windows import RING, grown
from unblot.model.wear import Pattern, Wear, make_pattern, ways_to_differ
from unblot.threads import side_by_side

PALE = 0.2  # ink that is a character's own, where most of its impressions have it
HALO = 2  # cells around it in which its fainter ink lies
LEAST_INK = 6  # cells
LEAST_NOISE, USUAL_NOISE = 0.05, 0.07  # of ink; the latter counts as much as that of SOME impressions
SOME = 8
DARKER, MOST_VEILED = 4.0, 0.5  # standard deviations, share of impressions
NORMAL = 1.48  # standard deviations in a median distance
MOST = 120  # impressions that teach
PLAY = 1  # cells by which impressions are moved onto each other
NEAR = 0.1  # squared ink by which a cell is off, at most, while they are
ENOUGH, EACH = 12, 40  # examples that a class must have to teach wear, and that of it do
RIDGE, TAILS = 0.01, 0.98  # of the ways' mean size, where they look alike; the share of amounts that are no outliers
LEAST_WEAR, MOST_WEAR, MORE = 0.03, 1.5, 1.1  # amounts; times what was solved for, which shrinks


@dataclass(frozen=True)
class Glyph:
    """A class: its mean ink in a frame, the cells that are its own ink, its pattern, and the frames of its examples."""

    W: Float[np.ndarray, "P1 P2"]
    own: Bool[np.ndarray, "P1 P2"]
    pattern: Pattern
    examples: Int[np.ndarray, "N 2"]

    @property
    def box(self) -> tuple[int, int, int, int]:
        """The box [x0, y0, x1, y1] around its ink."""
        rows, columns = np.nonzero(self.own)
        return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1

    @property
    def covered(self) -> Bool[np.ndarray, "P1 P2"]:
        """The cells that its pattern covers."""
        there = np.zeros(FRAME, bool)
        there[self.pattern.rows, self.pattern.columns] = True
        return there


def fit(
    sheet: Sheet,
    examples: Int[np.ndarray, "N 2"],
    allowed: Bool[np.ndarray, "P1 P2"],
    wear: Wear,
    turns: int = 2,
) -> Glyph | None:
    """Learn a class from the frames of its examples; `allowed` is where its ink may lie. None where there is none."""
    some = spread_out(examples, MOST)
    frames = sheet.frames(some, FRAME)
    W = np.median(frames, 0)
    own = (W > PALE) & allowed
    if own.sum() < LEAST_INK:
        return None
    covered = grown(own, RING)
    W = np.where(grown(own, HALO), W, 0).astype(np.float32)
    seen = frames[:, covered]
    sigma, veil = np.full(seen.shape[1], USUAL_NOISE, np.float32), np.zeros(seen.shape[1], np.float32)
    pattern = make_pattern(W, covered, sigma, veil, wear)
    for _ in range(turns):
        left = seen - look(sheet, pattern, some).shown
        usual = np.median(left, 0)
        noise = NORMAL * np.median(np.abs(left - usual), 0)
        sigma = np.sqrt((len(some) * noise**2 + SOME * USUAL_NOISE**2) / (len(some) + SOME))
        sigma = np.maximum(sigma, LEAST_NOISE)
        darker = (left > DARKER * sigma).sum(0)
        veil = np.minimum((darker + SOME * DIRTY) / (len(some) + SOME), MOST_VEILED)
        W[covered] = np.clip(W[covered] + usual, 0, 1)
        pattern = make_pattern(W, covered, sigma, veil, wear)
    return Glyph(W, own, pattern, examples)


def as_learned(W: Float[np.ndarray, "P1 P2"], own: Bool[np.ndarray, "P1 P2"], wear: Wear) -> Glyph:
    """Give a class that has no examples here: its mean and its own ink, and the noise that is usual."""
    covered = grown(own, RING)
    W = np.where(grown(own, HALO), W, 0).astype(np.float32)
    usual = np.ones(int(covered.sum()), np.float32)
    pattern = make_pattern(W, covered, USUAL_NOISE * usual, DIRTY * usual, wear)
    return Glyph(W, own, pattern, np.zeros((0, 2), int))


def aligned(sheet: Sheet, glyph: Glyph, examples: Int[np.ndarray, "N 2"]) -> Int[np.ndarray, "N 2"]:
    """Move frames by a few cells to where they show a class best."""
    steps = [(i, j) for i in range(-PLAY, PLAY + 1) for j in range(-PLAY, PLAY + 1)]
    steps.sort(key=lambda step: abs(step[0]) + abs(step[1]))
    tried = np.stack([inside(sheet, examples + np.array(step)) for step in steps])
    usual = glyph.pattern.w
    best = np.full(len(examples), np.inf)
    moved = examples.copy()
    for places in tried:
        seen = sheet.cells[places[:, :1] + glyph.pattern.rows, places[:, 1:] + glyph.pattern.columns]  # N, D
        off = np.minimum((seen - usual) ** 2, NEAR).sum(1)
        closer = off < best - 1e-6
        best[closer], moved[closer] = off[closer], places[closer]
    return moved


def inside(sheet: Sheet, corners: Int[np.ndarray, "N 2"]) -> Int[np.ndarray, "N 2"]:
    """Move frames to where they lie on the sheet."""
    return np.asarray(np.clip(corners, 0, np.array(sheet.shape) - np.array(FRAME)))


def refit(
    sheet: Sheet, examples: Int[np.ndarray, "N 2"], own: Bool[np.ndarray, "P1 P2"], wear: Wear, turns: int = 2
) -> Glyph | None:
    """Learn a class, whose own ink is known about, from examples, each where it fits."""
    allowed = grown(own, HALO)
    first = fit(sheet, examples, allowed, wear, 1)
    if first is None:
        return None
    return fit(sheet, aligned(sheet, first, examples), allowed, wear, turns)


def spread_out(examples: np.ndarray, most: int) -> np.ndarray:
    """Take some examples, evenly from all of them."""
    if len(examples) <= most:
        return examples
    return np.asarray(examples[np.linspace(0, len(examples) - 1, most).astype(int)])


def learn_wear(sheet: Sheet, glyphs: list[Glyph], turns: int, each: int = EACH) -> Wear:
    """Learn how far a page's impressions differ from their classes' patterns, in each way."""
    wear = Wear()
    names = list(Wear.__dataclass_fields__)
    teachers = [replace(g, examples=spread_out(g.examples, each)) for g in glyphs if len(g.examples) >= ENOUGH]
    for _ in range(turns):
        found: dict[str, list[np.ndarray]] = {name: [] for name in names}
        for amounts in side_by_side(partial(_amounts, sheet, wear), teachers):
            for name, values in amounts.items():
                found[name].append(values)
        wear = Wear(**{name: _deviation(found[name]) for name in names})
    return wear


def _amounts(sheet: Sheet, wear: Wear, teacher: Glyph) -> dict[str, Float[np.ndarray, " _"]]:
    """Give how far a class's impressions differ in each way, fitted to them with the wear that was known before."""
    glyph = fit(sheet, teacher.examples, grown(teacher.own, HALO), wear, 1)
    if glyph is None:
        return {}
    seen = look(sheet, glyph.pattern, glyph.examples)
    ways, sizes = ways_to_differ(glyph.W, glyph.covered, wear)
    scaled = ways * sizes[:, None]
    gram = scaled @ scaled.T
    gram += RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
    amounts = np.linalg.solve(gram, scaled @ (seen.shown - glyph.pattern.w).T) * sizes[:, None]  # K, N
    names = ["moved"] * 2 + ["turned"] * 3 + ["thick", "tone"]
    names += ["thick_here", "tone_here", "warped", "warped"] * ((len(ways) - len(names)) // 4)
    return {name: np.concatenate([amounts[k] for k, other in enumerate(names) if other == name]) for name in set(names)}


def _deviation(values: list[np.ndarray]) -> float:
    """Give how far impressions differ in a way; what none shows is not there."""
    every = np.concatenate(values) if values else np.zeros(1)
    inner = every[np.abs(every) <= np.quantile(np.abs(every), TAILS)]
    return float(np.clip(MORE * inner.std(), LEAST_WEAR, MOST_WEAR))
