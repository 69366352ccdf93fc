"""The page with its dirt taken off: own ink stays, what dirt took is filled in, unknown writing is kept.

Nothing is replaced by something like it: a character's pattern is used only where dirt lies over the character.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from jaxtyping import Bool, Float, UInt8
from scipy.spatial import cKDTree

from unblot.cleaning.marks import FAINT, HALO, INKED, Box, tell_marks
from unblot.cleaning.passes import Character
from unblot.cleaning.reread import SURE
from unblot.cleaning.stamps import Stamp, placed
from unblot.inference.kernels_close import grain_beside
from unblot.page import Page
from unblot.scale import HEIGHT, PageInk

AGREES = 0.25  # ink by which an instance may differ from its class's picture
SUBPIXEL = 0.7  # pixels that a picture is moved, at most
CLOSER = 0.9  # of the squared distance that must be left then
CLEAR = 0.2  # of a picture's box that must be clear to tell
DARK = 0.4  # lightness of a blot, in which ink hardly shows
HALF_TONE = 0.3  # ink of the edges that a scanner blurs, up to twice that
BLURRED = 0.5  # times the share of such edges, ink is fainter than it was printed
DIRTY = 0.02  # of a page's ink or paper that changes, for its edges to be made stronger too
PALE = 0.78  # of the darkest ink there is: a page whose full ink is paler gets full ink
NEAR, BESIDE, COARSE = 6.0, 0.5, 0.25  # heights around a place that full ink, its colour are taken from; how coarsely
STRONGEST = 8  # power of the ink that weighs it there
FAINTER = 0.5  # of the usual: places without full ink
TINY = 1e-9
EDGE, CONTRAST = 0.46, 1.8  # of full ink: where the edges of pale ink lie, and how much steeper they become
BLUR, UNBLUR = 1.0, 0.5  # pixels by which a scanner blurs pale ink, and how much of what that took comes back
SPOTLESS = 0.001  # of a page that may be stained, for it to be given back as it is
SHADED = 0.03  # of lightness: paper darker than the page's by more is stained
FURTHER, ASIDE, TURNS = 1.3, 2.7, 12  # heights down and right that grain is taken from, and how often one goes on
TILE = 4.0  # heights: the paper's tone is looked at in squares of that size
LIT = 80  # percentile of a square's lightness that is paper
EVEN = 0.9  # of the usual tone: darker squares are stained, their paper is that of their neighbours


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


def restore(page: Page, inked: PageInk, found: list[Character], stamps: dict[int, Stamp], white: bool) -> Restored:
    """Give a page back without its dirt, on its own paper or on white."""
    dark = page.light_on_dark()
    pixels = 255 - page.pixels if dark else page.pixels
    ink, paper, height = inked.seen, inked.paper, inked.height or HEIGHT
    hidden = paper < DARK
    own, certain, painted = _characters(ink, hidden, found, stamps)
    marks = tell_marks(ink, own, certain, hidden, [each.box for each in found], height)
    result = np.where(marks.stays, ink, np.where(own, painted, 0))
    tone = _tone(pixels, height)
    stained = cv2.dilate((paper < _mean(tone) - SHADED).astype(np.uint8), np.ones((HALO, HALO), np.uint8)) > 0
    if marks.clean and stained.mean() < SPOTLESS and not white:
        return Restored(page, marks.kept, [])
    gone = cv2.dilate((~own & ~marks.stays & (ink > FAINT)).astype(np.uint8), np.ones((HALO, HALO), np.uint8)) > 0
    changed = (cv2.absdiff(result, ink) > FAINT) | stained | (gone & (result < FAINT))
    before = np.where(changed, 0, ink)
    dirty = (changed & (ink > INKED)).sum() > DIRTY * (ink > INKED).sum() or stained.mean() > DIRTY
    full, usual = _full_ink(result, height)
    if usual < PALE:
        changed |= result > FAINT
        full = cv2.resize(np.maximum(full, FAINTER * usual), result.shape[::-1], interpolation=cv2.INTER_LINEAR)
        result = np.minimum(result / full, 1)
        result += UNBLUR * (result - cv2.GaussianBlur(result, (0, 0), BLUR))
        result = np.clip(0.5 + CONTRAST * (result / EDGE - 1) / 2, 0, 1)
    elif dirty:
        written = result > HALF_TONE
        changed |= written
        edges = float((written & (result < 2 * HALF_TONE)).sum()) / max(1, int(written.sum()))
        result *= np.float32(1 + BLURRED * edges)
        np.minimum(result, 1, out=result)
    if white:
        tone, changed = np.ones_like(tone), np.ones_like(changed)
        result = np.where(result > FAINT, result, 0)
    cleaned, there = pixels.copy(), result[changed][:, None]
    fresh = tone[changed] * (1 - there)
    if not white:
        fresh += np.where(there < FAINT, _grain(pixels, tone, changed, ink > FAINT, height), 0)
    if pixels.ndim == 3:
        fresh += _colour(pixels, np.where(result > INKED, before, 0), height)[changed] * there
    cleaned[changed] = np.rint(255 * fresh.clip(0, 1)).astype(np.uint8).reshape(-1, *pixels.shape[2:])
    cleaned = 255 - cleaned if dark else cleaned
    return Restored(replace(page, pixels=cleaned), marks.kept, marks.removed)


def _characters(
    ink: Float[np.ndarray, "H W"],
    hidden: Bool[np.ndarray, "H W"],
    found: list[Character],
    stamps: dict[int, Stamp],
) -> tuple[Bool[np.ndarray, "H W"], Bool[np.ndarray, "H W"], Float[np.ndarray, "H W"]]:
    """Paint every character: its own ink, and its class's where dirt lies over it.

    Give the pixels of all characters, those of the certain ones, and the ink.
    """
    own, certain = np.zeros(ink.shape, bool), np.zeros(ink.shape, bool)
    painted = np.zeros_like(ink)
    for each in found:
        stamp = stamps[each.c]
        there, inner = placed(ink.shape, each, stamp)
        mask, picture, seen = stamp.own[inner], stamp.picture[inner], ink[there]
        if each.posterior >= SURE:
            covered = (seen > stamp.bold[inner] + AGREES) | hidden[there]
            clear = mask & ~covered & (np.abs(seen - picture) < AGREES)
            seen = np.where(covered, _fitted(picture, seen, clear), seen) if covered.any() else seen
        part = painted[there]
        np.maximum(part, np.where(mask, seen, 0), out=part)
        own[there] |= mask
        certain[there] |= mask & (each.posterior >= SURE)
    return own, certain, painted


def _fitted(
    picture: Float[np.ndarray, "h w"], seen: Float[np.ndarray, "h w"], clear: Bool[np.ndarray, "h w"]
) -> Float[np.ndarray, "h w"]:
    """Move a class's picture by less than a pixel, where that brings it closer to what is clear of an instance."""
    if clear.sum() < CLEAR * clear.size:
        return picture
    slopes = np.stack(np.gradient(picture), 2)
    step = np.linalg.lstsq(-slopes[clear], (seen - picture)[clear], rcond=None)[0]
    dy, dx = np.clip(step, -SUBPIXEL, SUBPIXEL)
    affine = np.array([[1, 0, dx], [0, 1, dy]])
    moved = np.asarray(cv2.warpAffine(picture, affine, picture.shape[::-1], flags=cv2.INTER_CUBIC)).clip(0, 1)
    before, after = (float(np.square(each - seen)[clear].sum()) for each in (picture, moved))
    return moved if after < CLOSER * before else picture


def _colour(
    pixels: UInt8[np.ndarray, "H W 3"], ink: Float[np.ndarray, "H W"], height: float
) -> Float[np.ndarray, "H W 3"]:
    """Give the colour that ink has all over the page, without its lightness: 0 in each channel for black ink."""
    weight = ink**STRONGEST
    total = np.maximum(_around(weight, height, BESIDE), TINY)
    mean = np.stack([_around(weight * pixels[..., d] / 255, height, BESIDE) / total for d in range(3)], 2)
    colour = mean - mean.min(2, keepdims=True)
    return np.asarray(cv2.resize(colour, ink.shape[::-1], interpolation=cv2.INTER_LINEAR))


def _grain(
    pixels: np.ndarray,
    tone: Float[np.ndarray, "H W D"],
    changed: Bool[np.ndarray, "H W"],
    inked: Bool[np.ndarray, "H W"],
    height: float,
) -> Float[np.ndarray, "N D"]:
    """Give the paper's grain for the pixels that change: that of clean paper a few lines further on."""
    clean = cv2.dilate((changed | inked).astype(np.uint8), np.ones((2 * HALO + 1, 2 * HALO + 1), np.uint8)) == 0
    wanted, turns = np.flatnonzero(changed), np.arange(1, TURNS + 1)
    steps = np.rint(turns * FURTHER * height) * pixels.shape[1] + np.rint(turns * ASIDE * height)
    grain = np.zeros((len(wanted), tone.shape[2]), np.float32)
    values, usual = (v.reshape(clean.size, -1) for v in (pixels, tone))
    grain_beside(values, usual, clean.ravel(), wanted, steps.astype(np.int64), grain)
    return grain


def _mean(tone: Float[np.ndarray, "H W D"]) -> Float[np.ndarray, "H W"]:
    """Give the mean of a few channels."""
    return np.asarray(cv2.transform(tone, np.full((1, tone.shape[2]), 1 / tone.shape[2], np.float32)))


def _full_ink(ink: Float[np.ndarray, "H W"], height: float) -> tuple[Float[np.ndarray, "h w"], float]:
    """Give what full ink is like all over the page, coarsely, and usually.

    It is the mean of the ink around, the strongest counting most.
    """
    written = np.where(ink > FAINT, ink, 0)[::2, ::2]
    weight = cv2.pow(written, STRONGEST)
    total, weighted = (_around(values, height / 2, NEAR) for values in (weight, weight * written))
    full = weighted / np.maximum(total, TINY)
    return full, float(np.median(full[total > TINY])) if (total > TINY).any() else 1.0


def _around(values: Float[np.ndarray, "H W"], height: float, reach: float) -> Float[np.ndarray, "h w"]:
    """Give the mean of values within a reach of so many heights, coarsely."""
    rows, columns = (max(1, round(length / (COARSE * height))) for length in values.shape)
    coarse = cv2.resize(values, (columns, rows), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(coarse, (0, 0), reach / COARSE))


def _tone(pixels: np.ndarray, height: float) -> Float[np.ndarray, "H W D"]:
    """Give the paper's tone all over the page, 0 to 1 in each channel, as it is where nothing stains it."""
    values = pixels[..., None] if pixels.ndim == 2 else pixels
    tile = max(8, round(TILE * height))
    rows, columns = (-(-length // tile) for length in values.shape[:2])
    coarse = np.empty((rows, columns, values.shape[2]), np.float32)
    for i in range(rows):
        for j in range(columns):
            some = values[i * tile : (i + 1) * tile : 2, j * tile : (j + 1) * tile : 2]
            coarse[i, j] = np.percentile(some, LIT, axis=(0, 1)) / 255
    light = coarse.mean(2)
    good = light > EVEN * np.median(light)
    places = np.argwhere(good)
    coarse = coarse[tuple(places[cKDTree(places).query(np.argwhere(np.ones_like(good)))[1]].T)].reshape(coarse.shape)
    shape = (columns * tile, rows * tile)
    wide = [
        cv2.resize(np.ascontiguousarray(coarse[..., d]), shape, interpolation=cv2.INTER_LINEAR)
        for d in range(coarse.shape[2])
    ]
    return np.stack([each[: values.shape[0], : values.shape[1]] for each in wide], 2)
