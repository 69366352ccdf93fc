"""A page screened patch by patch (Sec. 4): one match for every patch that holds ink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unblot.detection.match import match
from unblot.inference.truncation import Truncation
from unblot.learning.em import fitting_batch, make_batch
from unblot.model.background import Background
from unblot.model.likelihood import terms
from unblot.model.theta import Theta
from unblot.patches import cut


@dataclass(frozen=True)
class Sightings:
    """Matches that are fully visible: class, the pattern's first row and column on the map, quality, posteriors."""

    c: Int[Tensor, " S"]
    place: Int[Tensor, "S 2"]
    quality: Float[Tensor, " S"]
    posterior: Float[Tensor, "S C"]

    def __getitem__(self, chosen: Tensor) -> Sightings:
        """Take some of them."""
        return Sightings(self.c[chosen], self.place[chosen], self.quality[chosen], self.posterior[chosen])


@dataclass(frozen=True)
class Patterns:
    """What to look for, and how exactly."""

    theta: Theta
    background: Background
    D: tuple[int, int]
    truncation: Truncation


def scan(
    features: Float[Tensor, "G1 G2 F"], corners: Int[Tensor, "N 2"], patterns: Patterns
) -> Iterator[tuple[int, Sightings]]:
    """Match the patches at `corners`, some at a time; give how many are done, and on the CPU what is fully visible."""
    theta, D = patterns.theta, patterns.D
    tables, done = terms(theta, D), 0
    for some in corners.split(fitting_batch(theta.W.device, D, theta)):
        batch = make_batch(cut(features, some, D).to(theta.W.device), patterns.background)
        found = match(batch, tables, patterns.truncation)
        visible = found.visible.cpu()
        everything = Sightings(found.c.cpu(), some + found.x.cpu(), found.quality.cpu(), found.posterior.cpu())
        done += len(some)
        yield done, everything[visible]


def joined(parts: list[Sightings], C: int) -> Sightings:
    """Join what was seen by some of the C classes."""
    nothing = Sightings(
        torch.empty(0, dtype=torch.int64),
        torch.empty(0, 2, dtype=torch.int64),
        torch.empty(0),
        torch.empty(0, C),
    )
    parts = [nothing, *parts]
    return Sightings(
        torch.cat([part.c for part in parts]),
        torch.cat([part.place for part in parts]),
        torch.cat([part.quality for part in parts]),
        torch.cat([part.posterior for part in parts]),
    )


def touching(
    corners: Int[Tensor, "N 2"], D: tuple[int, int], marked: Bool[Tensor, "G1 G2"], least: int
) -> Int[Tensor, "M 2"]:
    """Keep the patches that hold at least `least` marked places."""
    sums = torch.zeros(marked.shape[0] + 1, marked.shape[1] + 1, dtype=torch.int64)
    sums[1:, 1:] = marked.long().cumsum(0).cumsum(1)
    top, left = corners[:, 0], corners[:, 1]
    held = sums[top + D[0], left + D[1]] - sums[top, left + D[1]] - sums[top + D[0], left] + sums[top, left]
    return corners[held >= least]
