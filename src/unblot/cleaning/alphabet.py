"""An alphabet learned from pages (Sec. 4): EM on patches, then a look at what each class stands for."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from unblot.cleaning.passes import screen, tell_pass
from unblot.detection.scan import Patterns, Sightings
from unblot.errors import NothingFoundError
from unblot.features import STRIDE, GaborBank, gabor_features
from unblot.learning.classes import Picture, groups, picture, strong
from unblot.learning.em import Step
from unblot.learning.refit import refit
from unblot.learning.repeats import Schedule, Sheet, learn_patches, patches_of
from unblot.model.file import Model
from unblot.model.theta import Theta
from unblot.patches import PATCH
from unblot.progress import Clock, Progress, Watch

WIDE = math.sqrt(2)  # spacing of the scales in which characters are looked for


@dataclass(frozen=True)
class Lesson:
    """How to learn: the schedule of EM, the features, the quality that counts as seen, and the seed."""

    schedule: Schedule
    bank: GaborBank
    threshold: float
    seed: int


def learn_alphabet(inks: list[np.ndarray], lesson: Lesson, device: torch.device, watch: Watch, clock: Clock) -> Model:
    """Learn the characters that repeat on pages, given as their ink.

    A wide bank gives small characters features enough to win patches against their neighbours; in the lesson's own
    bank a pen's stroke spoils less of a character.
    """
    schedule, bank = lesson.schedule, lesson.bank
    wide = bank if schedule.random_start else replace(bank, spacing=WIDE)
    sheets = []
    for page, page_ink in enumerate(inks):
        sheets.append(Sheet(page_ink, gabor_features(torch.from_numpy(page_ink).to(device), wide)))
        watch(Progress("features", page + 1, len(inks)))
    clock.lap("features")

    def on_step(repeat: int, step: Step) -> None:
        done, total = repeat * schedule.iterations + step.iteration + 1, schedule.iterations * schedule.repeats
        watch(Progress("learning", done, total, f"free energy {step.free_energy:.6g}"))

    features = [sheet.features for sheet in sheets]
    Y = patches_of(features)
    theta, background = learn_patches(sheets, Y, schedule, lesson.seed, on_step)
    if wide != bank:
        features = [gabor_features(torch.from_numpy(page_ink).to(device), bank) for page_ink in inks]
        theta, background = refit(Y, theta, background, patches_of(features), schedule.truncation, schedule.play)
    watch(Progress("learning", 1, 1, "done"))
    clock.lap("learning")
    patterns = Patterns(theta, background, PATCH, schedule.truncation)
    tell = functools.partial(tell_pass, watch, 1)
    seen = [screen(found, page_ink, None, patterns, tell) for found, page_ink in zip(features, inks, strict=True)]
    clock.lap("detection")
    return _alphabet(inks, seen, patterns, lesson)


def _alphabet(inks: list[np.ndarray], seen: list[Sightings], patterns: Patterns, lesson: Lesson) -> Model:
    """Look at what each class stands for on the pages, and number the characters."""
    theta = patterns.theta
    candidates = strong(theta.A.cpu().numpy())
    pictures = [_look(inks, seen, theta, c, lesson.threshold) if candidates[c] else None for c in range(theta.C)]
    character = groups(pictures)
    if character.max() < 0:
        raise NothingFoundError("no characters that repeat were found; the input is left as it is, nothing was written")
    frame = (theta.P[0] * STRIDE, theta.P[1] * STRIDE)
    return Model(
        theta,
        patterns.background,
        patterns.D,
        lesson.bank,
        torch.from_numpy(character),
        torch.stack([torch.from_numpy(p.ink if p else np.zeros(frame, np.float32)) for p in pictures]),
        torch.tensor([p.box if p else (0, 0, 0, 0) for p in pictures]),
        torch.zeros(theta.C),
    )


def _look(inks: list[np.ndarray], seen: list[Sightings], theta: Theta, c: int, threshold: float) -> Picture | None:
    """Give a class's picture from the page where it was seen most."""
    places = [_places(sightings, c, threshold) for sightings in seen]
    most = max(range(len(seen)), key=lambda n: len(places[n]))
    return picture(inks[most], places[most] * STRIDE, theta.A[c].cpu().numpy(), STRIDE)


def _places(seen: Sightings, c: int, threshold: float) -> np.ndarray:
    """Give where a class was seen, the best first, each place once."""
    own = seen[((seen.c == c) & (seen.quality > threshold)).nonzero()[:, 0]]
    own = own[own.quality.argsort(descending=True, stable=True)]
    return np.array(list(dict.fromkeys(map(tuple, own.place.tolist()))), int).reshape(-1, 2)
