"""Classes of worn type that are two shapes: two clouds once the wear is taken out of their examples.

Worn impressions of one letter differ by more than an n differs from a u; what is left of them without their wear does
not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from unblot.inference.sheet import Sheet, look
from unblot.learning.glyphs import HALO, Glyph, fit
from unblot.learning.splitting import enclosed, two_worn_shapes
from unblot.learning.windows import grown, is_small
from unblot.model.wear import Wear

OPEN = 0.5  # masks above this show a cell as its class has it


def parted(
    sheet: Sheet, glyph: Glyph, examples: Int[np.ndarray, "N 2"], wear: Wear
) -> Iterator[tuple[Int[np.ndarray, "M 2"], Bool[np.ndarray, "P1 P2"]]]:
    """Part a class's examples into those of different shapes; give the examples and the ink of each."""
    small, inside = is_small(glyph.own), enclosed(glyph.own)
    cells = _unworn(sheet, glyph, examples)
    if not small:
        cells = cells[:, inside[glyph.pattern.rows, glyph.pattern.columns]]
    side = two_worn_shapes(cells, small)
    if side is not None:
        allowed = grown(inside, HALO)
        one, other = (fit(sheet, examples[those], allowed, wear) for those in (side, ~side))
        if one is not None and other is not None:
            yield from parted(sheet, one, examples[side], wear)
            yield from parted(sheet, other, examples[~side], wear)
            return
    yield examples, glyph.own


def _unworn(sheet: Sheet, glyph: Glyph, examples: Int[np.ndarray, "N 2"]) -> Float[np.ndarray, "N D"]:
    """Give what examples show without their wear, and what their class shows where they are covered."""
    seen = look(sheet, glyph.pattern, examples)
    y = sheet.cells[examples[:, :1] + glyph.pattern.rows, examples[:, 1:] + glyph.pattern.columns]  # N, D
    return np.asarray(np.where(seen.mask > OPEN, y - seen.shown, 0) + glyph.pattern.w)
