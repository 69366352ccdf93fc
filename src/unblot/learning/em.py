"""Expectation maximisation as a generator of steps (Sec. 3, Eqs. 6-8)."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.errors import UsageError
from unblot.inference.batch import Batch
from unblot.inference.estep import Stats, estep
from unblot.inference.truncation import Truncation
from unblot.learning.mstep import mstep
from unblot.model.background import Background
from unblot.model.likelihood import terms
from unblot.model.theta import Theta

Map = Callable[[Callable[[Batch], Stats], Iterable[Batch]], Iterable[Stats]]

CPU_BATCH = 64  # patches; a CPU works on one at a time, so more of them would only cost memory
CUDA_BATCHES = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)


@dataclass(frozen=True)
class Step:
    """One iteration: the free energy of the parameters it started from, and the parameters it ended with."""

    iteration: int
    theta: Theta
    temperature: float
    free_energy: float
    seconds: float


@dataclass(frozen=True)
class Annealing:
    """The first `steps` iterations at a temperature that falls geometrically to 1, on a share of the patches.

    At temperature T every probability of the model is raised to the power 1/T, masks included: patterns start as
    blurred means of aligned patches, and masks carve the characters out of them as T falls. The flat posterior
    needs more of the states than the truncation keeps, but fewer patches.
    """

    temperature: float = 300.0
    steps: int = 40
    K: float = 0.1
    share: float = 0.2

    def __post_init__(self) -> None:
        """Refuse a course that does not cool."""
        if self.temperature < 1:
            raise UsageError(f"the temperature must start at 1 or above, not {self.temperature}")
        if self.steps < 1 or not 0 < self.share <= 1:
            raise UsageError("annealing needs at least one step and a share of the patches in (0, 1]")

    def temperature_at(self, iteration: int) -> float:
        """Give T of an iteration, 1 from `steps` on."""
        return math.exp(math.log(self.temperature) * max(0.0, 1 - iteration / self.steps))

    @property
    def stride(self) -> int:
        """Take every so-many-th patch."""
        return max(1, round(1 / self.share))

    def widened(self, truncation: Truncation) -> Truncation:
        """Keep at least the fraction K of the states."""
        return Truncation(truncation.lam, max(truncation.K, self.K))


def learn(
    Y: Float[Tensor, "N D1 D2 F"],
    theta: Theta,
    background: Background,
    truncation: Truncation,
    *,
    annealing: Annealing | None = None,
    play: float = 0.0,
    batch_size: int | None = None,
    map: Map = map,
) -> Iterator[Step]:
    """Iterate E- and M-step for as long as the caller goes on, on the device of `theta`; plain EM without annealing.

    `map` runs the batches: Python's own, a pool's or a cluster's; `play` is that of the M-step.
    """
    device, D = theta.W.device, (Y.shape[1], Y.shape[2])
    _check(Y, theta)
    background = background.to(device)
    size = batch_size or fitting_batch(device, D, theta)

    home = device if fits(Y, device) else torch.device("cpu")

    def batches_of(patches: Float[Tensor, "N D1 D2 F"]) -> list[Batch]:
        return [make_batch(part.to(device), background).to(home) for part in patches.split(size)]

    cold = (batches_of(Y), truncation)
    hot = (batches_of(Y[:: annealing.stride]), annealing.widened(truncation)) if annealing else cold
    for iteration in itertools.count():
        started = time.perf_counter()
        temperature = annealing.temperature_at(iteration) if annealing else 1.0
        batches, kept = hot if temperature > 1 else cold
        step = functools.partial(estep, terms=terms(theta, D, 1 / temperature), truncation=kept)
        stats = functools.reduce(operator.add, map(step, batches))  # Eq. 6, bounded by the free energy from below
        theta = mstep(theta, stats, background.resolution(), play)
        yield Step(iteration, theta, temperature, stats.free_energy, time.perf_counter() - started)


def _check(Y: Float[Tensor, "N D1 D2 F"], theta: Theta) -> None:
    if not bool(torch.isfinite(Y).all()):
        raise UsageError("the data Y holds values that are not finite (NaN or infinity); clean it before learning")
    if Y.shape[3] != theta.F:
        raise UsageError(f"the patterns have F = {theta.F} features, the data has {Y.shape[3]}")
    if theta.P[0] > Y.shape[1] or theta.P[1] > Y.shape[2]:
        raise UsageError(f"P = {theta.P[0]}x{theta.P[1]} is larger than the patches, D = {Y.shape[1]}x{Y.shape[2]}")


def make_batch(Y: Float[Tensor, "N D1 D2 F"], background: Background) -> Batch:
    """Attach log H_B, which stays the same for as long as the background does."""
    return Batch(Y.contiguous(), background.log_prob(Y).contiguous())


def fits(Y: Float[Tensor, "N D1 D2 F"], device: torch.device) -> bool:
    """Tell whether all patches may stay on the device; if not, they come to it a batch at a time."""
    return device.type != "cuda" or 2 * Y.numel() * Y.element_size() <= torch.cuda.mem_get_info(device)[0] // 4


def fitting_batch(device: torch.device, D: tuple[int, int], theta: Theta) -> int:
    """Choose how many patches go through the E-step at once, in coarse steps so that equal runs choose alike."""
    if device.type != "cuda":
        return CPU_BATCH
    free, _ = torch.cuda.mem_get_info(device)
    a_patch = 16 * theta.W.element_size() * theta.C * D[0] * D[1] * (theta.F + 64)
    return next((size for size in CUDA_BATCHES if size * a_patch <= free // 2), 1)
