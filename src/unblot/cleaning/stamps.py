"""How a model's classes look on a page, pixel by pixel: which pixels are theirs, and what most instances show there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import cv2
import numpy as np
from jaxtyping import Bool, Float

from unblot.cleaning.passes import Character
from unblot.features import GaborBank
from unblot.learning.classes import PRINTED
from unblot.model.file import Model
from unblot.threads import side_by_side

FAINTEST = 0.02  # ink that a character's picture has beyond its neighbours'
SEAM = 0.05  # of a character's height: faint ink around its own
PLAY = 0.06  # of the same: how far an instance lies from where it was found, at most
MOST = 60  # instances that a picture is made of
BOLD = 0.8  # of a class's instances have no more ink than its boldest
TURNS = 2


@dataclass(frozen=True)
class Stamp:
    """A class on a page: its own pixels, its picture and that of its boldest, with `seam` pixels around its box."""

    own: Bool[np.ndarray, "h w"]
    picture: Float[np.ndarray, "h w"]
    bold: Float[np.ndarray, "h w"]
    seam: int

    @property
    def printed(self) -> Bool[np.ndarray, "h w"]:
        """Its own pixels that most instances have ink at."""
        return np.asarray(self.own & (self.picture > PRINTED))


def settle(
    ink: Float[np.ndarray, "H W"], found: list[Character], model: Model
) -> tuple[list[Character], dict[int, Stamp]]:
    """Move each character by a few pixels to where it fits the picture of its class, and give these pictures."""
    members = defaultdict(list)
    for number, each in enumerate(found):
        members[each.c].append(number)

    def of_class(c: int, numbers: list[int]) -> tuple[Stamp, list[Character]]:
        x0, y0, x1, y1 = found[numbers[0]].box
        seam, play = _margins(found[numbers[0]])
        own = own_pixels(model, c, (y1 - y0, x1 - x0), seam)
        wide = [around(ink, found[n].box, seam + play) for n in numbers]
        best = sorted(range(len(numbers)), key=lambda k: -found[numbers[k]].quality)[:MOST]
        places = [(play, play)] * len(numbers)
        for _ in range(TURNS):
            cuts = [_cut(wide[k], places[k], own.shape) for k in best]
            picture, bold = np.quantile(cuts, (0.5, BOLD), axis=0).astype(np.float32)
            weighted = np.where(own, picture, 0)
            places = [_where(piece, weighted) for piece in wide]
        at_home = [moved(found[n], down - play, right - play) for n, (down, right) in zip(numbers, places, strict=True)]
        return Stamp(own, picture, bold, seam), at_home

    there, stamps, classes = list(found), {}, sorted(members.items())
    for (c, numbers), (stamp, at_home) in zip(classes, side_by_side(lambda one: of_class(*one), classes), strict=True):
        stamps[c] = stamp
        for n, each in zip(numbers, at_home, strict=True):
            there[n] = each
    return there, stamps


def settled(ink: Float[np.ndarray, "H W"], each: Character, stamp: Stamp) -> Character:
    """Move a character to where it fits the picture of its class."""
    play = _margins(each)[1]
    place = _where(around(ink, each.box, stamp.seam + play), np.where(stamp.own, stamp.picture, 0))
    return moved(each, place[0] - play, place[1] - play)


def agreement(ink: Float[np.ndarray, "H W"], found: list[Character], stamps: dict[int, Stamp]) -> dict[int, float]:
    """Give each class's median correlation of its instances with its picture: low where they are no character."""
    values = defaultdict(list)
    for each in found:
        stamp = stamps[each.c]
        seen, picture = around(ink, each.box, stamp.seam)[stamp.own], stamp.picture[stamp.own]
        spread = float(seen.std() * picture.std())
        values[each.c].append(float(((seen - seen.mean()) * (picture - picture.mean())).mean()) / max(spread, 1e-6))
    return {c: float(np.median(of_class)) for c, of_class in values.items()}


def own_pixels(model: Model, c: int, shape: tuple[int, int], seam: int) -> Bool[np.ndarray, "h w"]:
    """Give the pixels that are a class's own, in its box of a shape with a seam around it."""
    picture = model.picture(c)
    if isinstance(model.bank, GaborBank):
        own = picture > FAINTEST
    else:
        fine = cv2.resize((picture > 0).astype(np.float32), shape[::-1], interpolation=cv2.INTER_LINEAR)
        own = fine > 0.5
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * seam + 1, 2 * seam + 1))
    return np.asarray(cv2.dilate(np.pad(own, seam).astype(np.uint8), disc) > 0)


def moved(each: Character, down: int, right: int) -> Character:
    """Move a character by some pixels."""
    x0, y0, x1, y1 = each.box
    return replace(each, box=(x0 + right, y0 + down, x1 + right, y1 + down))


def placed(shape: tuple[int, ...], each: Character, stamp: Stamp) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Give where on a page a character's stamp lies, and which part of the stamp that is."""
    there, inner = [], []
    for begin, length, most in zip((each.box[1], each.box[0]), stamp.own.shape, shape, strict=True):
        first = begin - stamp.seam
        start = max(0, first)
        stop = max(start, min(most, first + length))
        there.append(slice(start, stop))
        inner.append(slice(start - first, stop - first))
    return (there[0], there[1]), (inner[0], inner[1])


def around(ink: np.ndarray, box: tuple[int, int, int, int], by: int) -> np.ndarray:
    """Cut out a box with a margin; beyond the page there is no ink."""
    x0, y0, x1, y1 = box
    top, left, bottom, right = y0 - by, x0 - by, y1 + by, x1 + by
    inner = ink[max(0, top) : max(0, bottom), max(0, left) : max(0, right)]
    if inner.shape == (bottom - top, right - left):
        return inner
    before, first = max(0, -top), max(0, -left)
    after, last = bottom - top - before - inner.shape[0], right - left - first - inner.shape[1]
    return np.pad(inner, ((before, after), (first, last)))


def _margins(each: Character) -> tuple[int, int]:
    """Give the seam around a character and the play that it has, in pixels."""
    x0, y0, x1, y1 = each.box
    seam, play = (max(1, round(share * max(y1 - y0, x1 - x0))) for share in (SEAM, PLAY))
    return seam, play


def _cut(wide: np.ndarray, place: tuple[int, int], shape: tuple[int, ...]) -> np.ndarray:
    return wide[place[0] : place[0] + shape[0], place[1] : place[1] + shape[1]]


def _where(wide: np.ndarray, picture: np.ndarray) -> tuple[int, int]:
    fit = cv2.matchTemplate(wide.astype(np.float32), picture, cv2.TM_CCORR_NORMED)
    down, right = np.unravel_index(int(fit.argmax()), fit.shape)
    return int(down), int(right)
