"""The page with its dirt taken off: own ink stays, what dirt took is filled in, unknown writing is kept.

Nothing is replaced by something like it: a character's pattern is used only where dirt lies over the character.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from unblot.cleaning.passes import Character
from unblot.cleaning.stamps import Stamp
from unblot.ink import ink_and_paper
from unblot.page import Page, light_on_dark
from unblot.scale import reach_for

Box = tuple[int, int, int, int]

AGREES = 0.25  # ink by which an instance may differ from its class's picture
SURE = 0.9  # probability of a character below which its own ink stays as it is
DARK = 0.4  # lightness of a blot, in which ink hardly shows
INKED = 0.4
HALF, STRONG = 0.5, 90  # of a pale page's strong ink, that percentile of the characters', is ink too
HALF_TONE = 0.3  # ink of the edges that a scanner blurs, up to twice that
BLURRED = 0.5  # times the share of such edges, ink is fainter than it was printed
DIRTY = 0.02  # of a page's ink or paper that changes, for its edges to be made stronger too
FAINT = 0.08  # ink below this is the paper's grain
SHADED = 0.03  # of lightness: paper darker than the page's by more is stained
OWNED = 0.5  # of a part's pixels: then it is a character's
SMALLEST, LARGE, TALLEST, WIDEST = 0.08, 2.2, 4.0, 3.0  # of a character's height: what may be writing, or a heading's
THIN, THICK = 0.4, 3.0  # of the characters' stroke width
PALE = 0.65  # of the characters' ink
ALONG, LEVEL = 4.0, 0.6  # heights to the next character of the same line, along it and up or down
ROW, APART, EVENLY = 5, 2.0, 0.25  # marks that make a row of their own; heights between them, and up or down
HIDDEN = 0.1  # of a part's pixels that may lie under a blot
HALO = 3  # pixels around ink that are still its own
TILE = 4.0  # heights: the paper's tone is looked at in squares of that size
LIT = 80  # percentile of a square's lightness that is paper
EVEN = 0.9  # of the usual tone: darker squares are stained, their paper is that of their neighbours

KEPT = "unlearned mark on a text line"


@dataclass(frozen=True)
class Restored:
    """A restored page, the boxes of marks that were kept though nothing is known about them, and of those removed."""

    page: Page
    kept: list[Box]
    removed: list[Box]


def protect(cleaned: Page, page: Page, boxes: Sequence[Box]) -> Page:
    """Put back what a page held inside of boxes, to the pixel."""
    if not boxes:
        return cleaned
    pixels, before = cleaned.pixels.copy(), page.pixels
    if before.ndim > pixels.ndim:
        pixels = np.repeat(pixels[..., None], 3, 2)
    for x0, y0, x1, y1 in boxes:
        pixels[y0:y1, x0:x1] = before[y0:y1, x0:x1]
    return replace(cleaned, pixels=pixels)


def restore(page: Page, found: list[Character], stamps: dict[int, Stamp], height: float, white: bool) -> Restored:
    """Give a page back without its dirt, on its own paper or on white."""
    dark = light_on_dark(page.grey())
    pixels = 255 - page.pixels if dark else page.pixels
    ink, paper = ink_and_paper(page, reach_for(height))
    hidden = paper < DARK
    own, painted = _characters(ink, hidden, found, stamps)
    kept, removed, keep = _marks(ink, own, hidden, found, height)
    result = np.where(keep, ink, np.where(own, painted, 0))
    tone = _tone(pixels, height)
    stained = cv2.dilate((paper < tone.mean(2) - SHADED).astype(np.uint8), np.ones((HALO, HALO), np.uint8)) > 0
    changed = (np.abs(result - ink) > FAINT) | stained | (~own & ~keep & (ink > FAINT))
    if (changed & (ink > INKED)).sum() > DIRTY * (ink > INKED).sum() or stained.mean() > DIRTY:
        written = result > HALF_TONE
        changed |= written
        edges = (written & (result < 2 * HALF_TONE)).sum() / max(1, written.sum())
        result = np.minimum((1 + BLURRED * edges) * result, 1)
    if white:
        tone, changed = np.ones_like(tone), np.ones_like(changed)
        result = np.where(result > FAINT, result, 0)
    fresh = np.rint(255 * tone * (1 - result[..., None])).astype(np.uint8)
    fresh = fresh[..., 0] if pixels.ndim == 2 else fresh
    cleaned = np.where(changed if pixels.ndim == 2 else changed[..., None], fresh, pixels)
    cleaned = 255 - cleaned if dark else cleaned
    return Restored(replace(page, pixels=cleaned), kept, removed)


def _characters(
    ink: Float[np.ndarray, "H W"],
    hidden: Bool[np.ndarray, "H W"],
    found: list[Character],
    stamps: dict[int, Stamp],
) -> tuple[Bool[np.ndarray, "H W"], Float[np.ndarray, "H W"]]:
    """Paint every character: its own ink, and its class's where dirt lies over it."""
    own = np.zeros(ink.shape, bool)
    painted = np.zeros_like(ink)
    for each in found:
        stamp = stamps[each.c]
        top, left = each.box[1] - stamp.seam, each.box[0] - stamp.seam
        rows = slice(max(0, top), max(0, min(ink.shape[0], top + stamp.own.shape[0])))
        columns = slice(max(0, left), max(0, min(ink.shape[1], left + stamp.own.shape[1])))
        inner = (slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left))
        mask, picture, seen = stamp.own[inner], stamp.picture[inner], ink[rows, columns]
        if each.posterior >= SURE:
            covered = (seen > stamp.bold[inner] + AGREES) | hidden[rows, columns]
            seen = np.where(covered, picture, seen)
        part = painted[rows, columns]
        np.maximum(part, np.where(mask, seen, 0), out=part)
        own[rows, columns] |= mask
    return own, painted


def _marks(
    ink: Float[np.ndarray, "H W"],
    own: Bool[np.ndarray, "H W"],
    hidden: Bool[np.ndarray, "H W"],
    found: list[Character],
    height: float,
) -> tuple[list[Box], list[Box], Bool[np.ndarray, "H W"]]:
    """Tell writing that no dirt touches, known or not, from the rest: it stays as it is.

    Gives the boxes of the unknown marks that are kept and of those that are not, and the pixels that stay.
    """
    strong = np.percentile(np.append(ink[own & (ink > FAINT)], 1.0), STRONG)
    inked = ink > min(INKED, HALF * float(strong))
    count, parts, stats, _ = cv2.connectedComponentsWithStats(inked.astype(np.uint8))
    flat = parts.reshape(-1).astype(np.int64)
    area = np.maximum(stats[:, cv2.CC_STAT_AREA], 1)
    owned, covered = (np.bincount(parts[mask], minlength=count) / area for mask in (own & inked, hidden & inked))
    width, tall = stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_HEIGHT]
    large = np.maximum(width, tall) > SMALLEST * height
    large[0] = False
    stroke = np.zeros(count)
    np.maximum.at(stroke, flat, cv2.distanceTransform(inked.astype(np.uint8), cv2.DIST_L2, 5).reshape(-1))
    known = large & (owned > OWNED)
    usual = float(np.median(stroke[known])) if known.any() else height / 12
    strength = np.bincount(flat, ink.reshape(-1), minlength=count) / area
    pale = PALE * float(np.median(strength[known])) if known.any() else 0.0
    expected = usual * np.where(tall < LARGE * height, 1, tall / height)
    writing = large & (tall < TALLEST * height) & (width < WIDEST * np.maximum(tall, height)) & (covered < HIDDEN)
    writing &= (stroke > THIN * expected) & (stroke < THICK * expected) & (strength > pale)
    corners = stats[:, :4].astype(np.int64)
    corners[:, 2:] += corners[:, :2]
    writing[writing] = _on_a_line(corners[writing], np.array([each.box for each in found]).reshape(-1, 4), height)
    halo = np.ones((2 * HALO + 1, 2 * HALO + 1), np.uint8)
    keep = cv2.dilate(writing[parts].astype(np.uint8), halo) > 0
    unknown = large & (owned <= OWNED)
    boxes = [
        [(int(a), int(b), int(c), int(d)) for a, b, c, d in corners[unknown & chosen]] for chosen in (writing, ~writing)
    ]
    return boxes[0], boxes[1], keep & ~(own & ~writing[parts] & inked)


def _on_a_line(marks: Int[np.ndarray, "M 4"], known: Int[np.ndarray, "K 4"], height: float) -> Bool[np.ndarray, " M"]:
    """Tell which marks stand in line with known characters close by, or with other marks that do.

    >>> _on_a_line(np.array([[40, 0, 50, 10], [75, 2, 85, 12], [40, 30, 50, 40]]), np.array([[0, 0, 10, 10]]), 10.0)
    array([ True,  True, False])
    """
    on_line = _rows(marks, height)
    last = np.concatenate([known, marks[on_line]])
    while len(last) and not on_line.all():
        left = np.nonzero(~on_line)[0]
        reached = left[_in_line(marks[left], last, height)]
        on_line[reached] = True
        last = marks[reached]
    return on_line


def _rows(marks: Int[np.ndarray, "M 4"], height: float) -> Bool[np.ndarray, " M"]:
    """Tell which marks stand in a row of their own: a heading, a row of dashes."""
    x0, y0, x1, y1 = marks.T.astype(float)
    tall, far = np.maximum(y1 - y0, 1), (APART + WIDEST) * height
    middles = np.stack([(x0 + x1) / 2, (y0 + y1) / 2 * far / (EVENLY * height)], 1)
    one, other = cKDTree(middles).query_pairs(far, p=np.inf, output_type="ndarray").T
    beside = np.maximum(x0[one] - x1[other], x0[other] - x1[one]) < APART * height
    pairs = beside & (np.abs(np.log(tall[one] / tall[other])) < np.log(2))
    joined = coo_array((pairs[pairs], (one[pairs], other[pairs])), shape=(len(marks), len(marks)))
    _, row = connected_components(joined, directed=False)
    return np.asarray(np.bincount(row, minlength=1)[row] >= ROW)


def _in_line(marks: Int[np.ndarray, "M 4"], others: Int[np.ndarray, "K 4"], height: float) -> Bool[np.ndarray, " M"]:
    """Tell which marks have another one beside them, at their level."""
    left, top, right, bottom = others.T
    reach = ALONG * np.maximum(height, bottom - top)

    def has_one(x0: int, y0: int, x1: int, y1: int) -> bool:
        near = np.maximum(x0 - right, left - x1) < reach
        level = np.abs(y0 + y1 - top - bottom) < bottom - top + 2 * LEVEL * height
        return bool((near & level).any())

    return np.array([has_one(*mark) for mark in marks.tolist()], bool)


def _tone(pixels: np.ndarray, height: float) -> Float[np.ndarray, "H W D"]:
    """Give the paper's tone all over the page, 0 to 1 in each channel, as it is where nothing stains it."""
    values = pixels.astype(np.float32)[..., None] / 255 if pixels.ndim == 2 else pixels.astype(np.float32) / 255
    tile = max(8, round(TILE * height))
    rows, columns = (-(-length // tile) for length in values.shape[:2])
    coarse = np.empty((rows, columns, values.shape[2]), np.float32)
    for i in range(rows):
        for j in range(columns):
            coarse[i, j] = np.percentile(values[i * tile : (i + 1) * tile, j * tile : (j + 1) * tile], LIT, axis=(0, 1))
    light = coarse.mean(2)
    good = light > EVEN * np.median(light)
    places = np.argwhere(good)
    coarse = coarse[tuple(places[cKDTree(places).query(np.argwhere(np.ones_like(good)))[1]].T)].reshape(coarse.shape)
    shape = (columns * tile, rows * tile)
    wide = [
        cv2.resize(np.ascontiguousarray(coarse[..., d]), shape, interpolation=cv2.INTER_LINEAR)
        for d in range(coarse.shape[2])
    ]
    return np.stack(wide, 2)[: values.shape[0], : values.shape[1]]
