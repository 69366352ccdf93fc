"""Learning from pages the paper's way (Sec. 4): EM on patches, repeated, and the run with most character classes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unblot.errors import NothingFoundError
from unblot.features import STRIDE
from unblot.inference.truncation import Truncation
from unblot.learning import cutouts
from unblot.learning.classes import strong
from unblot.learning.em import Step, learn
from unblot.learning.start import centred, start_at, start_cutouts
from unblot.model.background import Background, fit_background
from unblot.model.theta import Theta
from unblot.patches import PATCH, PATTERN, cut, learning_corners

LEAST_GAIN = 0.003  # of all places: a cut-out that fewer are like starts no class
LEAST_PLACES = 1.5  # and no class either where it gains less than that, being like hardly any other place
MOST_CLASSES = 40
CENTRED_AFTER = 5  # iterations


@dataclass(frozen=True)
class Schedule:
    """How to learn from patches: the paper's numbers, but for the start, which `random_start` makes the paper's too.

    Learning ends early when the free energy rises by less than `least_rise` of all that it has risen.
    """

    classes: int | None = None
    iterations: int = 44
    least_rise: float = 1e-3
    repeats: int = 1
    truncation: Truncation = field(default_factory=Truncation)
    play: float = 1 / 2
    random_start: bool = False


@dataclass(frozen=True)
class Sheet:
    """A page as learning sees it: its ink, and its features on the device where the work is done."""

    ink: Float[np.ndarray, "H W"]
    features: Float[Tensor, "G1 G2 F"]


def patches_of(maps: list[Float[Tensor, "G1 G2 F"]]) -> Float[Tensor, "N D1 D2 F"]:
    """Cut the patches to learn from out of the pages' feature maps."""
    return torch.cat([cut(features, learning_corners(features.shape[:2]), PATCH) for features in maps])


def learn_patches(
    sheets: list[Sheet],
    Y: Float[Tensor, "N D1 D2 F"],
    schedule: Schedule,
    seed: int,
    watch: Callable[[int, Step], None],
) -> tuple[Theta, Background]:
    """Repeat EM from different starts and keep the run that ends with most character classes, the first of equals."""
    device = Y.device
    background = fit_background(Y)
    best: Theta | None = None
    for repeat in range(schedule.repeats):
        theta = _start(sheets, Y, schedule, seed + repeat).to(device)
        for step in _run(Y, theta, background, schedule):
            watch(repeat, step)
        if best is None or characters(step.theta) > characters(best):
            best = step.theta
    assert best is not None
    return best, background


def _run(Y: Float[Tensor, "N D1 D2 F"], theta: Theta, background: Background, schedule: Schedule) -> Iterator[Step]:
    """Iterate EM until hardly anything is gained; the patterns are put into the middle once they have taken shape."""
    begin = min(CENTRED_AFTER, schedule.iterations)
    energies: list[float] = []
    for step in itertools.islice(learn(Y, theta, background, schedule.truncation, play=schedule.play), begin):
        energies.append(step.free_energy)
        yield step
    steps = learn(Y, centred(step.theta, Y), background, schedule.truncation, play=schedule.play)
    for later in itertools.islice(steps, schedule.iterations - begin):
        energies.append(later.free_energy)
        yield replace(later, iteration=later.iteration + begin)
        risen, in_all = energies[-1] - energies[-2], energies[-1] - energies[0]
        if later.iteration > 0 and risen < schedule.least_rise * in_all:
            break


def characters(theta: Theta) -> int:
    """Count the classes whose masks are strong enough for a character."""
    return int(strong(theta.A.cpu().numpy()).sum())


def _start(sheets: list[Sheet], Y: Float[Tensor, "N D1 D2 F"], schedule: Schedule, seed: int) -> Theta:
    if schedule.random_start:
        return start_cutouts(Y.cpu(), schedule.classes or 6, PATTERN, torch.Generator().manual_seed(seed))
    rng = np.random.default_rng(seed)
    windows: list[tuple[Sheet, np.ndarray]] = []
    around = []
    everywhere = [cutouts.gathering_places(sheet.ink, STRIDE) for sheet in sheets]
    share = min(1.0, cutouts.MOST / max(1, sum(len(places) for places in everywhere)))
    for sheet, places in zip(sheets, everywhere, strict=True):
        some = places[np.sort(rng.permutation(len(places))[: round(share * len(places))])]
        around.append(cutouts.surroundings(sheet.ink, some, PATTERN, STRIDE))
        windows.extend((sheet, place) for place in some)
    if not windows:
        raise NothingFoundError("there is no ink on the page; the input is left as it is, nothing was written")
    alike = cutouts.likeness(np.concatenate(around))
    least = 0.0 if schedule.classes else max(LEAST_GAIN * len(windows), LEAST_PLACES)
    chosen = cutouts.representatives(alike, (schedule.classes or MOST_CLASSES) - 1, least)
    if not chosen:
        raise NothingFoundError("nothing on the page repeats; the input is left as it is, nothing was written")
    return start_at(torch.stack([_cut_out(*windows[k]) for k in chosen]), Y)


def _cut_out(sheet: Sheet, place: np.ndarray) -> Float[Tensor, "P1 P2 F"]:
    """Cut the features around a place out of the map, moved inside where the map ends."""
    limits = [g - p for g, p in zip(sheet.features.shape[:2], PATTERN, strict=True)]
    top, left = (min(max(int(at) - p // 2, 0), most) for at, p, most in zip(place, PATTERN, limits, strict=True))
    return sheet.features[top : top + PATTERN[0], left : left + PATTERN[1]]
