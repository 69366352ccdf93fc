"""A dirty page, the page before the dirt, and the truth."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from unblot.errors import UsageError
from unblot.files import write_whole
from unblot.page import Page, write_page
from unblot.score import Box, Mark
from unblot.synth.dirt import KINDS, lay_over, scanned
from unblot.synth.impression import INK, Type, cast, impression
from unblot.synth.layout import Placement, in_lines, scattered

FAINT = 0.15  # ink of at least this belongs to a character's box


@dataclass(frozen=True)
class Recipe:
    """What page to make; the defaults are a page of the paper's size."""

    characters: str = "abesy"
    text: str | None = None
    font: Path | None = None
    width: int = 3307
    height: int = 4677
    dpi: float = 400.0
    size: float = 87.0
    layout: str = "lines"
    count: int = 1000
    turns: dict[str, float] = field(default_factory=dict)
    wear: float = 0.0
    dirt: float = 1.0
    kinds: tuple[str, ...] = tuple(KINDS)
    noise: float = 0.012
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if not (self.text or self.characters).strip():
            raise UsageError("there is nothing to write: give --chars or --text")
        if not (20 <= self.width <= 30_000 and 20 <= self.height <= 30_000):
            raise UsageError(f"--width and --height must lie between 20 and 30000, not {self.width}x{self.height}")
        if not 4 <= self.size <= min(self.width, self.height):
            raise UsageError(f"--size must lie between 4 pixels and the page's smaller side, not {self.size}")
        if self.layout not in ("lines", "scatter"):
            raise UsageError(f"--layout must be lines or scatter, not {self.layout}")
        if not 0 <= self.wear <= 1:
            raise UsageError(f"--wear must lie between 0 (crisp) and 1, not {self.wear}")
        if self.dirt < 0 or self.noise < 0:
            raise UsageError("--dirt and --noise must not be negative")
        if unknown := set(self.kinds) - set(KINDS):
            raise UsageError(f"there is no dirt called {', '.join(sorted(unknown))}; choose from {', '.join(KINDS)}")


@dataclass(frozen=True)
class Synthetic:
    """The page, the same page without dirt, and what stands on it."""

    dirty: Page
    clean: Page
    truth: list[Mark]
    text: str


def make(recipe: Recipe) -> Synthetic:
    """Make a page. Characters, dirt and grain have random numbers of their own, so that one can change alone."""
    written, soiled, scanner = (np.random.default_rng([recipe.seed, stream]) for stream in range(3))
    words = recipe.text.split() if recipe.text else None
    types = cast("".join(words) if words else recipe.characters, recipe.font, recipe.size, recipe.turns)
    page = (recipe.width, recipe.height)
    if recipe.layout == "lines":
        placed = in_lines(types, words, recipe.size, *page, written)
    else:
        placed = scattered(types, recipe.count, recipe.size, *page, written)
    ink, printed = _print(types, placed, recipe, written)
    sheet = INK * ink
    boxes = _word_boxes(printed)
    amount = recipe.dirt * recipe.width * recipe.height / (3307 * 4677)
    for name, kind in KINDS.items():
        film = kind((recipe.height, recipe.width), amount, recipe.size, boxes, soiled)
        if name in recipe.kinds:
            sheet = lay_over(sheet, film)
    dirty, clean = (_page(scanned(s, recipe.noise, scanner), recipe.dpi) for s in (sheet, INK * ink))
    return Synthetic(dirty, clean, [mark for _, mark in printed], _text([place for place, _ in printed]))


def _print(
    types: dict[str, Type], placed: list[Placement], recipe: Recipe, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "H W"], list[tuple[Placement, Mark]]]:
    """Press every character onto the sheet; its box is that of its own ink, before any neighbour's."""
    ink = np.zeros((recipe.height, recipe.width), np.float32)
    printed = []
    for place in placed:
        made = types[place.label]
        x, y = place.x - made.origin[0], place.baseline - made.origin[1]
        left, top = int(np.floor(x)), int(np.floor(y))
        pressed = impression(made, x - left, y - top, recipe.wear, rng)
        rows, columns = np.nonzero(pressed > FAINT)
        if len(rows) == 0:
            continue
        box = (left + columns.min(), top + rows.min(), left + columns.max() + 1, top + rows.max() + 1)
        printed.append((place, Mark(place.label, tuple(float(side) for side in box))))  # type: ignore[arg-type]
        side = pressed.shape[0]
        y0, y1, x0, x1 = max(top, 0), min(top + side, recipe.height), max(left, 0), min(left + side, recipe.width)
        part = ink[y0:y1, x0:x1]
        np.maximum(part, pressed[y0 - top : y1 - top, x0 - left : x1 - left], out=part)
    return ink, printed


def _word_boxes(printed: list[tuple[Placement, Mark]]) -> list[Box]:
    words: dict[int, list[Box]] = {}
    for place, mark in printed:
        words.setdefault(place.word, []).append(mark.box)
    return [
        (min(b[0] for b in w), min(b[1] for b in w), max(b[2] for b in w), max(b[3] for b in w)) for w in words.values()
    ]


def _text(placed: list[Placement]) -> str:
    lines: dict[float, dict[int, str]] = {}
    for place in placed:
        line = lines.setdefault(place.baseline, {})
        line[place.word] = line.get(place.word, "") + place.label
    return "\n".join(" ".join(words.values()) for words in lines.values())


def _page(lightness: Float[np.ndarray, "H W"], dpi: float) -> Page:
    return Page(np.rint(255 * lightness).astype(np.uint8), (dpi, dpi))


def write(made: Synthetic, stem: Path) -> list[Path]:
    """Write STEM.png, STEM.clean.png and STEM.truth.json."""
    picture, clean, truth = (stem.with_name(stem.name + end) for end in (".png", ".clean.png", ".truth.json"))
    content = {
        "width": made.dirty.width,
        "height": made.dirty.height,
        "text": made.text,
        "characters": [{"label": m.name, "box": [int(side) for side in m.box]} for m in made.truth],
    }
    write_page(made.dirty, picture)
    write_page(made.clean, clean)
    write_whole(truth, lambda path: path.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8"))
    return [picture, clean, truth]
