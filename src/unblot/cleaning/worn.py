"""Worn type read line by line: classes as their impressions on this page show them, wear taken out of each.

Where impressions of a type differ, masks (Eq. 10) close over what is merely thick, thin or bent, and letters that
differ by no more look alike. Here how impressions differ is learned from the page, and each is read with that known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree
from scipy.special import expit

from unblot.cleaning.closeup import pen_strokes
from unblot.cleaning.passes import Character
from unblot.cleaning.reread import DOUBT
from unblot.detection.places import Search
from unblot.detection.reading import Readings, read
from unblot.detection.rows import find_rows
from unblot.detection.spacing import Sides, crowding, learn_spacing, sides_of
from unblot.grid import CELL, FRAME, Grid, InkCells
from unblot.inference.sheet import Sheet, lay_out
from unblot.learning.alike import LEAST_PARTS
from unblot.learning.composed import composed
from unblot.learning.glyphs import ENOUGH, HALO, Glyph, as_learned, fit, inside, learn_wear, refit, spread_out
from unblot.learning.parted import parted
from unblot.learning.seeds import Seed
from unblot.learning.windows import PRINTED, grown, page_background
from unblot.model.file import Model
from unblot.model.wear import Wear
from unblot.scale import HEIGHT
from unblot.threads import side_by_side

TEACHES = 0.6  # probability of a character that teaches how its class looks
WORN = 0.1  # cells by which parts of characters are bent where type is worn
MAYBE, FEW, FEW_EACH = 0.12, 10, 15  # the same after one turn, of a few classes with a few examples
WEAR_TURNS = 3
WHOLE = 0.5  # of its class's typical evidence that a reading must have to teach
FAINTEST, NEW = 0.2, 0.4  # the same, to be a character that was found before, and one that was not
TIGHT, PRESSED = 0.01, 0.8  # of all neighbours that overlap as much as pieces of a letter do; the least share of those
SAME = 0.25  # of a character's larger side: places that are the same
ODDS, SHARE = -2.0, 6.0  # log odds of a reading that was not found before, and for the share of the typical evidence
NEVER_SURE = 0.87  # probability of those, at most
MOST_EXAMPLES = 300  # of a class that are looked at for two shapes; the best of them teach
RARE = 0.5  # characters that a class has more than were counted


@dataclass(frozen=True)
class Measured:
    """A page's cells, the log density that each has without characters, and where long strokes run."""

    cells: Float[np.ndarray, "G1 G2"]
    log_H: Float[np.ndarray, "G1 G2"]
    struck: Bool[np.ndarray, "G1 G2"]

    @property
    def sheet(self) -> Sheet:
        """The page as patterns see it."""
        return lay_out(self.cells, self.log_H, self.struck)


def measure(strokes: Bool[np.ndarray, "H W"], grid: Grid) -> Measured:
    """Measure a page, given the pixels of its long strokes."""
    log_H = page_background(grid).log_prob(grid.cells).cpu().numpy()
    struck = np.pad(strokes[::CELL, ::CELL], [(margin, margin) for margin in FRAME])
    return Measured(grid.cells[..., 0].cpu().numpy(), log_H, struck)


def read_worn(measured: Measured, grid: Grid, model: Model, first: list[Character]) -> list[Character] | None:
    """Read a page anew with what its characters, as they were found first, tell of its wear; None where it has none.

    Boxes are in pixels of the page's own scale. What both looks agree on is as likely as it was.
    """
    assert isinstance(model.bank, InkCells)
    sheet = measured.sheet
    c, corner = places(first, model)
    teaches = np.array([each.posterior > TEACHES for each in first], bool)
    own = model.pictures.cpu().numpy() > 0
    W = model.theta.W[..., 0].cpu().numpy() / model.bank.strength
    if not _bent(sheet, _members(sheet, c[teaches], corner[teaches], len(own)), own):
        return None
    lesson = _lesson(sheet, c[teaches], corner[teaches], own, W)
    return None if lesson is None else list(_characters(uncrowded(lesson[2], lesson[0]), grid, model, first))


def worn_seeds(grid: Grid, seeds: list[Seed]) -> list[Seed] | None:
    """Let the characters teach that a page shows once its wear is known; None where nothing is worn.

    Pieces that are one character become one class.
    """
    seeds = [seed for seed in seeds if (seed.part > PRINTED).any()]
    if not seeds:
        return None
    parts = np.stack([seed.part for seed in seeds])
    own = parts > PRINTED
    if not _bent(measure(np.zeros(grid.ink.shape, bool), grid).sheet, [seed.corners for seed in seeds], own):
        return None
    sheet = measure(pen_strokes(grid.ink, HEIGHT)[2], grid).sheet
    c = np.repeat(np.arange(len(seeds)), [len(seed.corners) for seed in seeds])
    lesson = _lesson(sheet, c, np.concatenate([seed.corners for seed in seeds]), own, parts)
    if lesson is None:
        return None
    glyphs, wear, found = lesson
    found = found[found.share > WHOLE]
    free = np.ones(len(found), bool)
    taught = []
    wholes, pieces = composed(sheet, glyphs, found.c, found.corner, found.evidence, found.joint, wear)
    for whole in wholes:
        left = free[whole.first] & free[whole.first + 1]
        if left.sum() >= LEAST_PARTS:
            free[whole.first[left]] = free[whole.first[left] + 1] = False
            taught.append(Seed(whole.examples[left], whole.own.astype(np.float32)))
    for k in np.nonzero(~pieces)[0].tolist():
        mine = np.nonzero(free & (found.c == k))[0]
        best = mine[np.argsort(-found.evidence[mine], kind="stable")][:MOST_EXAMPLES]
        for corners, shape in parted(sheet, replace(glyphs[k], own=own[k]), found.corner[best], wear):
            if len(corners) >= LEAST_PARTS:
                taught.append(Seed(corners, shape.astype(np.float32)))
    return taught


def places(first: list[Character], model: Model) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, "S 2"]]:
    """Give the classes of characters and the frames around them."""
    c = np.array([each.c for each in first], int)
    boxes, own = (np.array(v, float).reshape(-1, 4) for v in ([each.box for each in first], model.boxes.tolist()))
    return c, np.rint(boxes[:, 1::-1] / CELL - own[c, 1::-1]).astype(int) + np.array(FRAME)


def _lesson(
    sheet: Sheet,
    c: Int[np.ndarray, " S"],
    corner: Int[np.ndarray, "S 2"],
    own: Bool[np.ndarray, "C P1 P2"],
    W: Float[np.ndarray, "C P1 P2"],
) -> tuple[list[Glyph], Wear, Readings] | None:
    """Learn classes and wear from characters, and read the page with them; None where nothing is worn."""
    members = _members(sheet, c, corner, len(own))
    wear = _wear(sheet, members, own)
    if wear.warped < WORN:
        return None
    glyphs = side_by_side(
        lambda one: _taught(sheet, one[0], as_learned(*one[1:], wear), wear), zip(members, W, own, strict=True)
    )
    return glyphs, wear, _read(sheet, glyphs, c, inside(sheet, corner))


def _members(
    sheet: Sheet, c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], classes: int
) -> list[Int[np.ndarray, "_ 2"]]:
    """Give the frames of each class's characters."""
    corner = inside(sheet, corner)
    return [corner[c == k] for k in range(classes)]


def _bent(sheet: Sheet, members: list[Int[np.ndarray, "_ 2"]], own: Bool[np.ndarray, "C P1 P2"]) -> bool:
    """Tell whether impressions may be bent, as a few of them say."""
    known = sorted(_teachers(members, own), key=lambda one: -len(one[0]))[:FEW]
    few = [(spread_out(of_class, FEW_EACH), ink) for of_class, ink in known]
    return learn_wear(sheet, _fitted(sheet, few), 1, FEW_EACH).warped > MAYBE


def _wear(sheet: Sheet, members: list[Int[np.ndarray, "_ 2"]], own: Bool[np.ndarray, "C P1 P2"]) -> Wear:
    """Learn how far impressions differ."""
    return learn_wear(sheet, _fitted(sheet, _teachers(members, own)), WEAR_TURNS)


def _teachers(
    members: list[Int[np.ndarray, "_ 2"]], own: Bool[np.ndarray, "C P1 P2"]
) -> list[tuple[Int[np.ndarray, "_ 2"], Bool[np.ndarray, "P1 P2"]]]:
    """Give the examples and the ink of the classes that have enough to tell how impressions differ."""
    return [(of_class, ink) for of_class, ink in zip(members, own, strict=True) if len(of_class) >= ENOUGH]


def _fitted(sheet: Sheet, classes: list[tuple[Int[np.ndarray, "_ 2"], Bool[np.ndarray, "P1 P2"]]]) -> list[Glyph]:
    """Learn classes, given by their examples and their ink, from impressions of which no wear is known yet."""
    made = side_by_side(lambda one: fit(sheet, one[0], grown(one[1], HALO), Wear(), 1), classes)
    return [glyph for glyph in made if glyph is not None]


def _taught(sheet: Sheet, examples: Int[np.ndarray, "N 2"], glyph: Glyph, wear: Wear) -> Glyph:
    """Learn a class from its examples; one with fewer than repeat looks as it was learned."""
    taught = refit(sheet, examples, glyph.own, wear) if len(examples) >= LEAST_PARTS else None
    return glyph if taught is None else taught


def _read(sheet: Sheet, glyphs: list[Glyph], c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"]) -> Readings:
    """Read a page whose lines and frequencies are those of some characters."""
    count = np.bincount(c, minlength=len(glyphs)) + RARE
    spacing = learn_spacing(c, corner, _sides(glyphs))
    return read(sheet, glyphs, count / count.sum(), find_rows(c, corner, len(glyphs)), Search(), spacing)


def uncrowded(found: Readings, glyphs: list[Glyph]) -> Readings:
    """Leave out what is not whole and overlaps as type hardly ever does: pieces of letters without a class."""
    return found[(crowding(found.c, found.corner, _sides(glyphs)) > TIGHT) | (found.share > PRESSED)]


def _sides(glyphs: list[Glyph]) -> Sides:
    return sides_of(np.stack([glyph.own for glyph in glyphs]))


def _characters(found: Readings, grid: Grid, model: Model, first: list[Character]) -> Iterator[Character]:
    """Give characters with their probabilities: only what was read the same before is sure."""

    def middles(characters: list[Character]) -> Float[np.ndarray, "N 2"]:
        boxes = np.array([each.box for each in characters], float).reshape(-1, 4)
        return np.asarray((boxes[:, :2] + boxes[:, 2:]) / 2)

    number = model.character.tolist()
    readings = [
        Character(number[c], c, grid.box((y, x), tuple(model.boxes[c].tolist())), q, float(expit(p)), other, 1)
        for c, (y, x), q, p, other in zip(
            found.c.tolist(),
            found.corner.tolist(),
            found.quality.tolist(),
            ODDS + SHARE * found.share,
            [None if second < 0 else number[second] for second in found.second.tolist()],
            strict=True,
        )
    ]
    if not readings:
        return
    distance, nearest = cKDTree(middles(first)).query(middles(readings))
    for each, share, far, k in zip(readings, found.share, distance, nearest, strict=True):
        x0, y0, x1, y1 = each.box
        if share < FAINTEST:
            continue
        if first[k].c == each.c and far < SAME * max(x1 - x0, y1 - y0):
            yield replace(each, posterior=max(first[k].posterior, DOUBT))
        elif share > NEW:
            yield replace(each, posterior=min(each.posterior, NEVER_SURE))
