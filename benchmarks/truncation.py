"""Truncated against exact E-step at the paper's sizes: D 55x40, P 40x30, F 40, C 6, lambda 200, K 0.02.

    python benchmarks/truncation.py [--patches 64] [--device cpu]

Patches are drawn from a model with smooth random patterns. From the same parameters, a few iterations after a start
from cut-outs, both ways run the same number of EM iterations; the table gives the time of an E-step and how far the
parameters they learned are apart.
"""

from __future__ import annotations

import argparse
import itertools
import time

import torch
import torch.nn.functional as nn

from unblot.device import choose_device
from unblot.features import GaborBank
from unblot.inference.estep import estep
from unblot.inference.truncation import EXACT, Truncation
from unblot.learning.em import learn, make_batch
from unblot.learning.start import start_cutouts
from unblot.model.background import fit_background
from unblot.model.likelihood import terms
from unblot.model.sample import sample
from unblot.model.theta import Theta
from unblot.patches import PATCH, PATTERN

D, P, F, C = PATCH, PATTERN, GaborBank().F, 6
ITERATIONS = 5


def smooth_patterns(generator: torch.Generator) -> Theta:
    """Make patterns as smooth as Gabor magnitudes are, each with a mask of about a third of its area."""
    coarse = torch.randn(C, F + 1, P[0] // 5, P[1] // 5, generator=generator)
    fine = nn.interpolate(coarse, P, mode="bicubic")
    mask = 0.02 + 0.96 * (fine[:, 0] > 0.4)
    W = 2 * fine[:, 1:].permute(0, 2, 3, 1).abs()
    return Theta(W.contiguous(), torch.full_like(W, 0.04), mask, torch.full((C,), 1 / C))


def draw_background(count: int, generator: torch.Generator) -> torch.Tensor:
    """Draw mostly blank paper, and sometimes dirt."""
    dirt = torch.rand(count, 1, generator=generator) < 0.3
    noise = torch.randn(count, F, generator=generator)
    return torch.where(dirt, noise.abs(), 0.05 * noise.abs())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patches", type=int, default=64)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    device = choose_device(options.device)
    generator = torch.Generator().manual_seed(0)
    Y = sample(smooth_patterns(generator), draw_background, options.patches, D, generator).Y.to(device)
    background = fit_background(Y)
    batch = make_batch(Y, background)
    for step in itertools.islice(learn(Y, start_cutouts(Y, C, P, generator), background, EXACT), ITERATIONS):
        start = step.theta
    learned, seconds = {}, {}
    for name, truncation in (("truncated", Truncation(lam=200, K=0.02)), ("exact", EXACT)):
        for step in itertools.islice(learn(Y, start, background, truncation), ITERATIONS):
            learned[name] = step.theta
        tables = terms(learned[name], D)
        estep(batch, tables, truncation)
        started = time.perf_counter()
        estep(batch, tables, truncation)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds[name] = time.perf_counter() - started
        print(
            f"{name:>10}: {seconds[name]:8.3f} s an E-step, {1e3 * seconds[name] / len(Y):7.2f} ms a patch", flush=True
        )
    print(f"     ratio: {seconds['exact'] / seconds['truncated']:8.2f}")
    for name in ("pi", "A", "W", "Phi"):
        exact, truncated = (getattr(learned[way], name) for way in ("exact", "truncated"))
        difference = (exact - truncated).abs()
        print(
            f"{name:>10}: differs by {float(difference.mean()):.2e} in the mean, {float(difference.max()):.2e} at most"
        )


if __name__ == "__main__":
    main()
