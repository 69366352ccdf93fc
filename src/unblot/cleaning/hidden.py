"""Characters that dirt hides for the most part: what is left of them in the gaps between those that were found.

The first look counts what all cells say, so that whoever is crossed by three strokes has too little left. Here strokes
and the ink that others own are known, and say nothing: a character must be there as far as they leave it visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from unblot.cleaning.passes import Character
from unblot.cleaning.worn import NEVER_SURE, ODDS, RARE, SHARE, TEACHES, Measured, places
from unblot.detection.places import PLAY, Search
from unblot.detection.reading import Readings, read
from unblot.detection.rows import Row, Rows, find_rows
from unblot.grid import FRAME, Grid
from unblot.inference.sheet import Sheet, look
from unblot.learning.glyphs import EACH, ENOUGH, Glyph, refit, spread_out
from unblot.learning.windows import INKED, grown, laid
from unblot.model.file import Model
from unblot.model.wear import Wear
from unblot.threads import side_by_side

CRISP = Wear(moved=0.35, turned=0.03, thick=0.03, tone=0.03, thick_here=0.03, tone_here=0.03, warped=0.03)
HIDDEN = Search(fit=0.25, seen=0.2, told=0.15, first_hope=-1000.0, hopeless=-300.0)
NARROW = 0.8  # times the narrowest class: gaps that hold no character
LEAST_INK = 0.2  # of the ink of the class with the least: there is nothing in a gap that has less
BEYOND = 2 * FRAME[1]  # cells before the first and behind the last character of a line
VISIBLE = 0.12  # of what a class's cells say usually: less shows nothing
WHOLE = 0.75  # of what its visible cells say usually that a character has
APART = 0.35  # of the smaller of two boxes that both may have


def find_hidden(measured: Measured, grid: Grid, model: Model, first: list[Character]) -> list[Character]:
    """Find the characters that a page shows in the gaps of its lines.

    Boxes are in pixels of the page's own scale.
    """
    c, corner = places(first, model)
    rows = find_rows(c, corner, model.theta.C)
    if rows is None:
        return []
    page = measured.sheet
    own = model.pictures.cpu().numpy() > 0
    teaches = np.array([each.posterior > TEACHES for each in first], bool)
    there = np.unique(c[teaches]).tolist()
    fitted = side_by_side(lambda k: _glyph(page, corner[teaches & (c == k)], own[k]), there)
    glyphs = [glyph for glyph in fitted if glyph is not None]
    if not glyphs:
        return []
    numbers = np.array([k for k, glyph in zip(there, fitted, strict=True) if glyph is not None])
    owned = laid(page.shape, c, corner, np.stack([grown(ink, 1) for ink in own]))
    gaps = list(_gaps(page, rows, c, corner, glyphs, model.boxes.numpy(), owned))
    if not gaps:
        return []
    count = np.bincount(c, minlength=model.theta.C)[numbers] + RARE
    left = replace(measured, struck=measured.struck | owned).sheet
    found = read(left, glyphs, count / count.sum(), Rows(rows.above[numbers], gaps), HIDDEN)
    visible, whole = _visible(page, left, glyphs, found)
    found = found[(visible > VISIBLE) & (whole > WHOLE)]
    return list(_characters(found, numbers, grid, model, first))


def _glyph(page: Sheet, examples: Int[np.ndarray, "N 2"], own: Bool[np.ndarray, "P1 P2"]) -> Glyph | None:
    """Learn how a class looks from its examples, each where it fits; None where there are too few."""
    if len(examples) < ENOUGH:
        return None
    return refit(page, spread_out(examples, EACH), own, CRISP, 1)


def _gaps(
    page: Sheet,
    rows: Rows,
    c: Int[np.ndarray, " S"],
    corner: Int[np.ndarray, "S 2"],
    glyphs: list[Glyph],
    boxes: Int[np.ndarray, "C 4"],
    owned: Bool[np.ndarray, "G1 G2"],
) -> Iterator[Row]:
    """Give the parts of lines where nothing was found, but there is ink."""
    narrowest = min(g.box[2] - g.box[0] for g in glyphs)
    least = LEAST_INK * min(int(g.own.sum()) for g in glyphs)
    free = (page.cells > INKED) & ~owned
    for row in rows.rows:
        on = np.nonzero(rows.off(row, c, corner) <= PLAY + 2)[0]
        if not len(on):
            continue
        x0, y0, x1, y1 = boxes[c[on]].T + np.stack([*corner[on].T[::-1], *corner[on].T[::-1]])
        order = np.argsort(x0)
        ends = np.maximum.accumulate(x1[order])
        lefts = [max(0, int(x0.min()) - BEYOND), *ends.tolist()]
        rights = [*x0[order].tolist(), min(page.shape[1], int(x1.max()) + BEYOND)]
        for left, right in zip(lefts, rights, strict=True):
            there = free[int(y0.min()) : int(y1.max()), left:right]
            if right - left >= NARROW * narrowest and there.sum() >= least:
                yield Row(row.columns, row.heights, row.slope, left - FRAME[1] // 2, right - FRAME[1] // 2)


def _visible(
    page: Sheet, left: Sheet, glyphs: list[Glyph], found: Readings
) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Give the share of what its class's cells say usually that is visible of each reading, and the share that is so.

    Usually is what the cells of a class's examples say where no dirt lies.
    """
    visible, whole = np.zeros(len(found)), np.zeros(len(found))
    for k, glyph in enumerate(glyphs):
        mine = np.nonzero(found.c == k)[0]
        if not len(mine):
            continue
        says = look(page, glyph.pattern, glyph.examples).odds
        usual = np.nanmedian(np.where(_clear(page, glyph, glyph.examples), says, np.nan), axis=0)
        usual = np.nan_to_num(usual)
        clear = _clear(left, glyph, found.corner[mine])
        seen = clear @ usual
        visible[mine] = seen / usual.sum()
        whole[mine] = (clear * look(left, glyph.pattern, found.corner[mine]).odds).sum(1) / np.maximum(seen, 1e-6)
    return visible, whole


def _clear(sheet: Sheet, glyph: Glyph, corners: Int[np.ndarray, "N 2"]) -> Bool[np.ndarray, "N D"]:
    rows, columns = glyph.pattern.rows, glyph.pattern.columns
    return np.asarray(sheet.dirt[corners[:, :1] + rows, corners[:, 1:] + columns] < 0.5)


def _characters(
    found: Readings, numbers: Int[np.ndarray, " K"], grid: Grid, model: Model, first: list[Character]
) -> Iterator[Character]:
    """Give the characters that share no place with others; what dirt hides most of is never sure."""
    held = np.array([each.box for each in first], float).reshape(-1, 4)
    likely = np.minimum(expit(ODDS + SHARE * found.share), NEVER_SURE)
    for k, at, q, p, second in zip(
        numbers[found.c].tolist(),
        found.corner.tolist(),
        found.quality.tolist(),
        likely.tolist(),
        found.second,
        strict=True,
    ):
        box = grid.box(tuple(at), tuple(model.boxes[k].tolist()))
        both = np.minimum(held[:, 2:], box[2:]) - np.maximum(held[:, :2], box[:2])
        smaller = np.minimum((held[:, 2:] - held[:, :2]).prod(1), (box[2] - box[0]) * (box[3] - box[1]))
        if (both.clip(0).prod(1) < APART * smaller).all():
            other = None if second < 0 else int(model.character[numbers[second]])
            yield Character(int(model.character[k]), k, box, q, p, other, 1)
