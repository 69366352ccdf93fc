"""Characters found pass by pass (Sec. 5): each accepted one is blanked, so that what it hid can be found next."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unblot.detection.scan import Patterns, Sightings, joined, scan, touching
from unblot.features import STRIDE, GaborBank, gabor_features
from unblot.inference.truncation import Truncation
from unblot.learning.classes import PRINTED
from unblot.model.file import Model
from unblot.patches import DETECTION, corners
from unblot.progress import Progress, Watch

INKED = 0.3  # ink that may belong to a character
LEAST_INKED = 12  # places of the feature map with such ink, for a patch to be looked at
PLAY = 3  # pixels by which a match is moved onto the ink, since the feature map is that coarse
SAME_INK = 0.3  # share of the smaller box that two readings of the same ink have in common
MOST_PASSES = 20
COVERED = 0.85  # share of its class's ink that a character shows; whole ones show 0.95 and more


@dataclass(frozen=True)
class Character:
    """A character on the page: its number in the alphabet, its class, its box in pixels, and how sure it is."""

    character: int
    c: int
    box: tuple[int, int, int, int]
    quality: float
    posterior: float
    runner_up: int | None
    found_in: int


def screen(
    features: Float[Tensor, "G1 G2 F"],
    ink: Float[np.ndarray, "H W"],
    changed: Bool[np.ndarray, "G1 G2"] | None,
    patterns: Patterns,
    tell: Callable[[int, int], None],
) -> Sightings:
    """Match every patch that holds ink and, where that is given, something that changed."""
    inked = torch.from_numpy(cv2.dilate(ink, np.ones((STRIDE, STRIDE)))[::STRIDE, ::STRIDE] > INKED)
    places = touching(corners(inked.shape, patterns.D, DETECTION), patterns.D, inked, LEAST_INKED)
    if changed is not None:
        places = touching(places, patterns.D, torch.from_numpy(changed), 1)
    seen = []
    for done, part in scan(features, places, patterns):
        seen.append(part)
        tell(done, len(places))
    return joined(seen, patterns.theta.C)


def find_characters(
    ink: Float[np.ndarray, "H W"], model: Model, threshold: float, truncation: Truncation, watch: Watch
) -> list[Character]:
    """Screen the page for the model's characters until nothing more is accepted."""
    assert isinstance(model.bank, GaborBank)
    theta = model.theta.take(model.known)
    patterns = Patterns(theta, model.background, model.D, truncation)
    left, changed = ink.copy(), None
    found: list[Character] = []
    for number in range(1, MOST_PASSES + 1):
        features = gabor_features(torch.from_numpy(left).to(theta.W.device), model.bank)
        seen = screen(features, left, changed, patterns, functools.partial(tell_pass, watch, number))
        accepted = accept(seen, ink, left, model, threshold, found, number)
        if not accepted:
            break
        found += accepted
        changed = blank(left, accepted, model.bank.reach)
    return found


def tell_pass(watch: Watch, number: int, done: int, total: int) -> None:
    """Say how much of a pass is done."""
    watch(Progress("detection", done, total, f"pass {number}"))


def blank(ink: Float[np.ndarray, "H W"], accepted: list[Character], reach: int) -> Bool[np.ndarray, "G1 G2"]:
    """Take characters off the page, and give the places whose features this changes."""
    changed = np.zeros(ink[::STRIDE, ::STRIDE].shape, bool)
    for each in accepted:
        x0, y0, x1, y1 = each.box
        ink[y0:y1, x0:x1] = 0
        top, first = max(0, y0 - reach), max(0, x0 - reach)
        changed[top // STRIDE : (y1 + reach) // STRIDE + 1, first // STRIDE : (x1 + reach) // STRIDE + 1] = True
    return changed


def accept(
    seen: Sightings,
    ink: Float[np.ndarray, "H W"],
    left: Float[np.ndarray, "H W"],
    model: Model,
    threshold: float,
    before: list[Character],
    number: int,
) -> list[Character]:
    """Take the matches above the threshold whose ink is there, the best first; one reading for each piece of ink.

    `seen` numbers the classes that are characters, `left` is the ink without the characters found before.
    """
    classes = model.known
    seen = seen[(seen.quality > threshold).nonzero()[:, 0]]
    seen = seen[seen.quality.argsort(descending=True, stable=True)]
    taken = _Taken(ink.shape, before)
    accepted = []
    tried = set()
    for k, (known, place, quality) in enumerate(
        zip(seen.c.tolist(), seen.place.tolist(), seen.quality.tolist(), strict=True)
    ):
        if (known, *place) in tried:
            continue
        tried.add((known, *place))
        c = classes[known]
        box = _on_the_ink(left, model, c, place)
        if box is None or taken.overlap(box) > SAME_INK or _covered(ink, model, c, box) < COVERED:
            continue
        taken.add(box)
        own, runner_up, probability = _standing(seen.posterior[k], model, c)
        accepted.append(Character(own, c, box, quality, probability, runner_up, number))
    return accepted


def _standing(posterior: torch.Tensor, model: Model, c: int) -> tuple[int, int | None, float]:
    """Sum the classes of each character: its number, the next likely one, and its own probability."""
    sums = torch.zeros(model.characters)
    sums.index_add_(0, model.character[model.known], posterior)
    own = int(model.character[c])
    others = sums.clone()
    others[own] = -1
    runner_up = int(others.argmax()) if model.characters > 1 and float(others.max()) > 0 else None
    return own, runner_up, float(sums[own])


def _on_the_ink(
    ink: Float[np.ndarray, "H W"], model: Model, c: int, place: list[int]
) -> tuple[int, int, int, int] | None:
    """Move the class's picture by a few pixels to where it fits the ink best, and give its box there."""
    x0, y0 = model.boxes[c, :2].tolist()
    top, left = place[0] * STRIDE + y0, place[1] * STRIDE + x0
    picture = model.picture(c)
    height, width = picture.shape
    y, x = max(0, top - PLAY), max(0, left - PLAY)
    around = ink[y : top + height + PLAY, x : left + width + PLAY]
    if around.shape[0] < height or around.shape[1] < width:
        return None
    fit = cv2.matchTemplate(around, picture, cv2.TM_CCORR_NORMED)
    down, right = np.unravel_index(int(fit.argmax()), fit.shape)
    return (x + int(right), y + int(down), x + int(right) + width, y + int(down) + height)


def _covered(ink: Float[np.ndarray, "H W"], model: Model, c: int, box: tuple[int, int, int, int]) -> float:
    """Give how much of the class's ink the page has in the box: dirt adds ink, it takes none away."""
    printed = model.picture(c) > PRINTED
    return float((ink[box[1] : box[3], box[0] : box[2]][printed] > INKED).mean())


class _Taken:
    """The ink that has its reading already."""

    def __init__(self, shape: tuple[int, ...], before: list[Character]) -> None:
        self.mask = np.zeros(shape, bool)
        for each in before:
            self.add(each.box)

    def add(self, box: tuple[int, int, int, int]) -> None:
        self.mask[box[1] : box[3], box[0] : box[2]] = True

    def overlap(self, box: tuple[int, int, int, int]) -> float:
        return float(self.mask[box[1] : box[3], box[0] : box[2]].mean())
