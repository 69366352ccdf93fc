"""The page painted anew (Sec. 5): the best instance of each character, wherever the character was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from unblot.cleaning.passes import Character
from unblot.cleaning.stamps import around, own_pixels
from unblot.model.file import Model
from unblot.page import Page


def exemplars(
    ink: Float[np.ndarray, "H W"], found: list[Character], model: Model
) -> dict[int, tuple[Character, Float[np.ndarray, "h w"]]]:
    """Give the best instance of each character on the page, with its ink."""
    best: dict[int, Character] = {}
    for each in found:
        if each.character not in best or each.quality > best[each.character].quality:
            best[each.character] = each
    chosen = {}
    for number, each in sorted(best.items()):
        x0, y0, x1, y1 = each.box
        own = own_pixels(model, each.c, (y1 - y0, x1 - x0), 0)
        chosen[number] = (each, np.where(own, around(ink, each.box, 0), 0))
    return chosen


def repaint(page: Page, ink: Float[np.ndarray, "H W"], found: list[Character], model: Model) -> Page:
    """Paint the best instances on a blank page of the same size."""
    painted = np.zeros_like(ink)
    best = exemplars(ink, found, model)
    for each in found:
        picture = best[each.character][1]
        x0, y0 = each.box[:2]
        x, y = max(0, x0), max(0, y0)
        part = painted[y : y0 + picture.shape[0], x : x0 + picture.shape[1]]
        seen = picture[y - y0 :, x - x0 :][: part.shape[0], : part.shape[1]]
        np.maximum(part, seen, out=part)
    lightness = painted if page.light_on_dark() else 1 - painted
    return replace(page, pixels=np.rint(255 * lightness).astype(np.uint8))
