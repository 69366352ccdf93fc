"""Learning in rounds: what was learned is found and blanked, and what is left is learned from again.

A patch's model explains one character (Sec. 2), so a small one that stands beside larger ones teaches nothing as long
as those are there. The paper repeats its learning and keeps the best run; here a round learns what those before left.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import torch

from unblot.cleaning.passes import Character, find_characters, screen
from unblot.detection.scan import Patterns, Sightings
from unblot.errors import NothingFoundError
from unblot.features import STRIDE, GaborBank, gabor_features
from unblot.learning.classes import LEAST_SEEN, Picture, groups, picture, strong
from unblot.learning.em import Step
from unblot.learning.repeats import Schedule, Sheet, learn_patches
from unblot.model.file import Model
from unblot.model.theta import Theta
from unblot.patches import PATCH
from unblot.progress import Clock, Progress, Watch


@dataclass(frozen=True)
class Lesson:
    """How to learn: the schedule of EM, the features, the quality that counts as seen, and the seed."""

    schedule: Schedule
    bank: GaborBank
    threshold: float
    seed: int


@dataclass(frozen=True)
class Learned:
    """A model, and the characters that were found on each page while it was learned."""

    model: Model
    found: list[list[Character]]


def learn_characters(
    inks: list[np.ndarray], lesson: Lesson, device: torch.device, watch: Watch, clock: Clock
) -> Learned:
    """Learn in rounds until one brings nothing more."""
    left = inks
    learned: Learned | None = None
    for number in range(1, lesson.schedule.rounds + 1):
        try:
            model, seen = _round(left, inks, lesson, device, number, watch, clock)
        except NothingFoundError:
            if learned is None:
                raise
            break
        found = []
        remains = []
        for page_ink, sightings in zip(left, seen, strict=True):
            truncation = lesson.schedule.truncation
            characters, rest = find_characters(page_ink, model, lesson.threshold, truncation, sightings, watch)
            found.append(characters)
            remains.append(rest)
        clock.lap("detection")
        left = remains
        learned = Learned(model, found) if learned is None else _joined(learned, Learned(model, found))
        if sum(map(len, found)) < LEAST_SEEN:
            break
    assert learned is not None
    return learned


def _round(
    left: list[np.ndarray],
    whole: list[np.ndarray],
    lesson: Lesson,
    device: torch.device,
    number: int,
    watch: Watch,
    clock: Clock,
) -> tuple[Model, list[Sightings]]:
    """Learn from the ink that is left: a model, and what its patterns see; a class is looked at on the whole page."""
    sheets = []
    for page, page_ink in enumerate(left):
        watch(Progress("features", page, len(left)))
        sheets.append(Sheet(page_ink, gabor_features(torch.from_numpy(page_ink).to(device), lesson.bank)))
    clock.lap("features")
    schedule = lesson.schedule

    def on_step(repeat: int, step: Step) -> None:
        done, total = repeat * schedule.iterations + step.iteration + 1, schedule.iterations * schedule.repeats
        watch(Progress(f"learning, round {number}", done, total, f"free energy {step.free_energy:.6g}"))

    theta, background = learn_patches(sheets, schedule, lesson.seed, on_step)
    clock.lap("learning")
    patterns = Patterns(theta, background, PATCH, schedule.truncation)
    seen = [
        screen(sheet.features, sheet.ink, None, patterns, functools.partial(_on_patches, watch)) for sheet in sheets
    ]
    clock.lap("detection")
    return _alphabet(whole, seen, patterns, lesson), seen


def _on_patches(watch: Watch, done: int, total: int) -> None:
    watch(Progress("detection", done, total, "pass 1"))


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


def _joined(one: Learned, more: Learned) -> Learned:
    """Put the classes of a later round behind those of the earlier ones, and number all the characters anew."""
    a, b = one.model, more.model
    pictures = [_picture(model, c) for model in (a, b) for c in range(model.theta.C)]
    character = torch.from_numpy(groups(pictures))
    theta = Theta(
        torch.cat([a.theta.W, b.theta.W]),
        torch.cat([a.theta.Phi, b.theta.Phi]),
        torch.cat([a.theta.A, b.theta.A]),
        torch.cat([a.theta.pi, b.theta.pi]) / 2,
    )
    looks = (torch.cat([a.pictures, b.pictures]), torch.cat([a.boxes, b.boxes]))
    model = Model(theta, a.background, a.D, a.bank, character, *looks)
    renamed = {int(old): int(new) for old, new in zip(b.character, character[a.theta.C :], strict=True)}
    latest = max((each.found_in for page in one.found for each in page), default=0)
    found = [
        [*before, *(_renamed(each, renamed, a.theta.C, latest) for each in page)]
        for before, page in zip(one.found, more.found, strict=True)
    ]
    return Learned(model, found)


def _renamed(each: Character, names: dict[int, int], classes: int, passes: int) -> Character:
    return replace(
        each,
        character=names[each.character],
        c=each.c + classes,
        runner_up=None if each.runner_up is None else names[each.runner_up],
        found_in=each.found_in + passes,
    )


def _picture(model: Model, c: int) -> Picture | None:
    if model.character[c] < 0:
        return None
    x0, y0, x1, y1 = model.boxes[c].tolist()
    return Picture(model.pictures[c].numpy(), (x0, y0, x1, y1))
