"""The paper's experiments on documents (Sec. 5, Fig. 3, Suppl. C): pages made with `synth`, learned and repainted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from unblot.cleaning.passes import Character, blank
from unblot.cleaning.repaint import exemplars, repaint
from unblot.errors import NothingFoundError
from unblot.experiments import figures
from unblot.experiments.ocr import read_with_tesseract
from unblot.features import STRIDE
from unblot.files import make_folder, write_whole
from unblot.ink import ink
from unblot.learning.repeats import Schedule
from unblot.patches import LEARNING, PATCH, corners, to_pixels
from unblot.pipeline import Result, Settings, clean
from unblot.progress import Progress, Watch
from unblot.score import Mark, Score, score
from unblot.synth.make import Recipe, Synthetic, make, write

DOCUMENTS = {
    "bayes": ("DejaVuSerif.ttf", Recipe(characters="abesy")),
    "nine": ("DejaVuSerif.ttf", Recipe(characters="acdeghkst")),
    "script": ("DejaVuSans.ttf", Recipe(characters="ⴰⴳⴷⴹⵀⵅⵎⵥ")),
    "scatter": ("DejaVuSans.ttf", Recipe(characters="aegkR", layout="scatter", turns={"e": 180, "k": 90, "R": 270})),
}
PLAIN = Schedule(classes=6, least_rise=0.0, repeats=10, play=0.0, random_start=True)
AREA = (600, 165)  # pixels across and down of the part that is shown pass by pass


@dataclass(frozen=True)
class Outcome:
    """What one seed came to; None where nothing was found."""

    seed: int
    score: Score | None
    seconds: float


def reproduce(
    name: str, small: bool, plain: bool, seeds: range, folder: Path, device: torch.device, watch: Watch
) -> str:
    """Make the document, clean it with every seed, write figures of the first and a table of all; give the table."""
    figures.check()
    make_folder(folder)
    made = make(_recipe(name, small))
    page = replace(made.dirty, source=str(write(made, folder / "page")[0]))
    ocr = read_with_tesseract(folder / "page.png")
    baseline = None if ocr is None else score(made.truth, ocr)
    outcomes: list[Outcome] = []
    for seed in seeds:
        settings = Settings(method="patch", mode="repaint", seed=seed, schedule=PLAIN if plain else Schedule())
        try:
            result = clean([page], settings, device, watch=lambda at: watch(_of_seed(seed, at)))  # noqa: B023
        except NothingFoundError:
            outcomes.append(Outcome(seed, None, float("nan")))
        else:
            found = result.pages[0].characters
            outcomes.append(Outcome(seed, score(made.truth, marks(found)), sum(result.seconds.values())))
            if seed == seeds[0]:
                draw(made, result, folder)
        write_table(outcomes, baseline, folder)
    return table(outcomes, baseline)


def marks(found: list[Character]) -> list[Mark]:
    """Give characters as marks for the scoring."""
    return [Mark(str(each.character), each.box) for each in found]


def _recipe(name: str, small: bool) -> Recipe:
    import matplotlib

    face, recipe = DOCUMENTS[name]
    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / face
    size = {"width": 1400, "height": 1000, "count": 110} if small else {}
    return replace(recipe, font=font, **size)  # type: ignore[arg-type]


def _of_seed(seed: int, at: Progress) -> Progress:
    return replace(at, stage=f"seed {seed}: {at.stage}")


def draw(made: Synthetic, result: Result, folder: Path) -> None:
    """Write the panels of Fig. 3."""
    model, found = result.model, result.pages[0].characters
    page_ink = ink(made.dirty)
    light = 1 - page_ink
    places = to_pixels(corners(page_ink[::STRIDE, ::STRIDE].shape, PATCH, LEARNING))
    size = [STRIDE * side for side in PATCH]
    chosen = places[np.linspace(0, len(places) - 1, 7).astype(int)[1:-1]].tolist()
    figures.pieces([light[y : y + size[0], x : x + size[1]] for y, x in chosen], folder / "patches.png")
    figures.patterns(model.theta.to("cpu"), folder / "parameters.png")
    best = exemplars(page_ink, found, model)
    titles = [f"class {number}, Q = {each.quality:.2f}" for number, (each, _) in best.items()]
    figures.pieces([1 - picture for _, picture in best.values()], folder / "characters.png", titles)
    figures.rows_of(_pass_by_pass(made, page_ink, result), folder / "passes.png")
    cleaned = result.pages[0].clean
    assert cleaned is not None
    figures.side_by_side(made.dirty.pixels, cleaned.pixels, folder / "before-after.png")


def _pass_by_pass(made: Synthetic, page_ink: np.ndarray, result: Result) -> list[tuple[str, np.ndarray]]:
    """Show, for a part of the page where the last pass found something, what is left and what is painted."""
    found, model = result.pages[0].characters, result.model
    last = max(found, key=lambda each: each.found_in)
    x0 = min(max(0, last.box[0] - AREA[0] // 2), max(0, page_ink.shape[1] - AREA[0]))
    y0 = min(max(0, last.box[1] - AREA[1] // 3), max(0, page_ink.shape[0] - AREA[1]))
    part = (slice(y0, y0 + AREA[1]), slice(x0, x0 + AREA[0]))
    shown = [("the page", 1 - page_ink[part])]
    left = page_ink.copy()
    for number in range(1, last.found_in + 1):
        so_far = [each for each in found if each.found_in <= number]
        blank(left, so_far, 0)
        painted = repaint(made.dirty, page_ink, so_far, model).pixels[part] / 255
        shown += [(f"pass {number}: left on the page", 1 - left[part]), (f"pass {number}: painted", painted)]
    return shown


def write_table(outcomes: list[Outcome], baseline: Score | None, folder: Path) -> None:
    """Write the table for machines and for people."""
    rows = [
        {"seed": each.seed, "seconds": each.seconds, "score": None if each.score is None else asdict(each.score)}
        for each in outcomes
    ]
    content = {"seeds": rows, "tesseract": None if baseline is None else asdict(baseline)}
    write_whole(folder / "table.json", lambda path: path.write_text(json.dumps(content, indent=1) + "\n"))
    write_whole(folder / "table.md", lambda path: path.write_text(table(outcomes, baseline)))


def table(outcomes: list[Outcome], baseline: Score | None) -> str:
    """Give the table as Markdown; the last row is what Tesseract reads, where it is installed."""
    lines = [
        "| seed | types found | recall | false positives | substitutions | missed | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_line(str(each.seed), each.score, f"{each.seconds:.1f}") for each in outcomes]
    if baseline is not None:
        lines.append(_line("Tesseract", baseline, ""))
    return "\n".join(lines) + "\n"


def _line(name: str, counted: Score | None, seconds: str) -> str:
    if counted is None:
        return f"| {name} | 0 | 0 % | 0 | 0 | all | {seconds} |"
    types = f"{counted.types_found} of {counted.types}"
    numbers = f"{counted.false_positives} | {counted.substitutions} | {counted.missed}"
    return f"| {name} | {types} | {100 * counted.recall:.1f} % | {numbers} | {seconds} |"
