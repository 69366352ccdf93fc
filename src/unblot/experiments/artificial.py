"""The paper's experiment on artificial data (Sec. 4, Fig. 2): learn the model from patches drawn from it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from unblot.experiments import figures
from unblot.experiments.characters import CHARACTERS, draw_background, generating_theta
from unblot.experiments.divergence import Divergence, align, divergence
from unblot.files import make_folder, write_whole
from unblot.inference.truncation import Truncation
from unblot.learning.em import Annealing, Step, learn
from unblot.learning.start import contracted, start_uniform
from unblot.model.background import Background, fit_background
from unblot.model.sample import sample
from unblot.model.theta import Theta
from unblot.progress import Progress, Watch


@dataclass(frozen=True)
class Setting:
    """The size of the experiment; the defaults are the paper's."""

    size: int = 50
    N: int = 1000
    iterations: int = 70
    truncation: Truncation = field(default_factory=lambda: Truncation(lam=200, K=0.02))
    annealing: Annealing | None = field(default_factory=Annealing)


SMALL = Setting(
    size=20, N=300, iterations=40, truncation=Truncation(lam=60, K=0.02), annealing=Annealing(steps=30, share=0.5)
)


@dataclass(frozen=True)
class Outcome:
    """What one seed came to."""

    seed: int
    divergence: Divergence
    seconds: float
    free_energy: float


def patches(setting: Setting, seed: int) -> tuple[Float[Tensor, "N D D 3"], torch.Generator]:
    """Draw the data of one seed, and give the generator to draw the start from."""
    generator = torch.Generator().manual_seed(seed)
    side = (setting.size, setting.size)
    return sample(generating_theta(setting.size), draw_background, setting.N, side, generator).Y, generator


def run(
    setting: Setting,
    Y: Float[Tensor, "N D D 3"],
    background: Background,
    generator: torch.Generator,
    device: torch.device,
) -> Iterator[Step]:
    """Learn from one seed's data, from the start of the paper: uniform colours and masks."""
    start = start_uniform(Y, len(CHARACTERS), (setting.size, setting.size), generator)
    start = (contracted(start, Y) if setting.annealing else start).to(device)
    steps = learn(Y.to(device), start, background, setting.truncation, annealing=setting.annealing)
    yield Step(-1, start, 1.0, float("nan"), 0.0)
    yield from itertools.islice(steps, setting.iterations)


def choose_setting(small: bool, plain: bool) -> Setting:
    """Choose the paper's size or one of seconds; `plain` is the paper's EM, without annealing."""
    chosen = SMALL if small else Setting()
    return replace(chosen, annealing=None) if plain else chosen


def reproduce(setting: Setting, seeds: range, folder: Path, device: torch.device, watch: Watch) -> str:
    """Run every seed; write the figures of the first, and the table of all after each; give the table."""
    figures.check()
    make_folder(folder)
    truth = generating_theta(setting.size)
    outcomes: list[Outcome] = []
    for seed in seeds:
        course: list[tuple[int, Theta]] = []
        seconds = 0.0
        Y, generator = patches(setting, seed)
        histogram = fit_background(Y)
        for step in run(setting, Y, histogram, generator, device):
            note = f"free energy {step.free_energy:.5g}"
            watch(Progress(f"seed {seed}", step.iteration + 1, setting.iterations, note))
            seconds += step.seconds
            if seed == seeds[0]:
                course.append((step.iteration + 1, step.theta.to("cpu")))
        learned = step.theta.to("cpu")
        outcomes.append(Outcome(seed, divergence(learned, truth), seconds, step.free_energy))
        if seed == seeds[0]:
            figures.background(histogram, folder / "background.png")
            figures.patches(Y[: len(CHARACTERS)], folder / "patches.png")
            figures.learning_course(_chosen(course), align(learned, truth), truth, folder)
        write_table(outcomes, folder)
    return table(outcomes)


def _chosen(course: list[tuple[int, Theta]]) -> list[tuple[int, Theta]]:
    """Take eight iterations, evenly spread from the start to the end."""
    return [course[round(k * (len(course) - 1) / 7)] for k in range(8)]


def write_table(outcomes: list[Outcome], folder: Path) -> None:
    """Write the table for machines and for people."""
    rows = [
        {
            "seed": outcome.seed,
            "divergence": {
                name: value
                for name, value in (asdict(outcome.divergence) | {"mean": outcome.divergence.mean}).items()
                if name != "recovered"
            },
            "recovered": outcome.divergence.recovered,
            "seconds": round(outcome.seconds, 2),
            "free_energy": outcome.free_energy,
        }
        for outcome in outcomes
    ]
    write_whole(folder / "table.json", lambda path: path.write_text(json.dumps({"seeds": rows}, indent=1) + "\n"))
    write_whole(folder / "table.md", lambda path: path.write_text(table(outcomes)))


def table(outcomes: list[Outcome]) -> str:
    """Give the table as Markdown, divergences in percent."""
    lines = [
        "| seed | pi | A | W | Phi | mean | A everywhere | classes recovered | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        d = outcome.divergence
        percent = " | ".join(f"{100 * value:.2f} %" for value in (d.pi, d.A, d.W, d.Phi, d.mean, d.A_everywhere))
        lines.append(f"| {outcome.seed} | {percent} | {d.recovered} of {len(CHARACTERS)} | {outcome.seconds:.1f} |")
    return "\n".join(lines) + "\n"
