"""How well a result agrees with the truth: recall, false positives, substitutions, missed."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial import cKDTree

from unblot.errors import InputError, UsageError
from unblot.files import read_text
from unblot.page import read_page

DARK = 128  # pixels below this are ink
LEAST_ERROR = 1e-6  # squared grey values: equal pages have a PSNR of 108
NEAR = 2  # pixels around true ink that are neither ink nor dirt
REACH = 0.4  # of the true box's larger side: how far apart the centres of a pair may be

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Mark:
    """A box with what stands in it: a true character's label, or a detection's class."""

    name: str
    box: Box


@dataclass(frozen=True)
class Score:
    """The counts of one page."""

    characters: int
    detections: int
    correct: int
    false_positives: int
    substitutions: int
    missed: int
    types: int
    types_found: int

    @property
    def recall(self) -> float:
        """Give the share of the true characters that were found and are of the right class."""
        return self.correct / self.characters if self.characters else 1.0


@dataclass(frozen=True)
class Pixels:
    """How a cleaned page's pixels agree with those of the page before the dirt.

    The shares of true ink that is still dark and of dirt that is not; PSNR in decibels; DIBCO's F-measure.
    """

    ink_kept: float
    dirt_removed: float
    psnr: float
    f_measure: float


def compare_pixels(clean: Path, image: Path, dirty: Path) -> Pixels:
    """Compare a cleaned page with the page before the dirt; dirt is what is dark on the dirty page alone."""
    before, after, spoilt = (255 * read_page(path).grey() for path in (clean, image, dirty))
    if not before.shape == after.shape == spoilt.shape:
        raise InputError(f"{clean}, {image} and {dirty} differ in size; compare pictures of the same page")
    ink, painted = before < DARK, after < DARK
    far = cv2.distanceTransform((~ink).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE) > NEAR
    dirt = (spoilt < DARK) & far
    right = int((ink & painted).sum())
    error = float(np.mean((before - after) ** 2))
    return Pixels(
        ink_kept=right / max(1, int(ink.sum())),
        dirt_removed=1 - int((dirt & painted).sum()) / max(1, int(dirt.sum())),
        psnr=float(10 * np.log10(255**2 / max(error, LEAST_ERROR))),
        f_measure=2 * right / max(1, int(ink.sum()) + int(painted.sum())),
    )


def score(truth: list[Mark], found: list[Mark], min_count: int = 1) -> Score:
    """Pair detections and true characters, nearest centres first, and count.

    Only types with at least `min_count` examples are scored; what pairs with a rarer character counts for nothing.

    >>> a = Mark("a", (0, 0, 10, 10))
    >>> score([a], [Mark("7", (1, 0, 11, 10))]).recall
    1.0
    """
    pairs = pair(truth, found)
    counts = Counter(mark.name for mark in truth)
    scored = {name for name, count in counts.items() if count >= min_count}
    right = right_pairs(truth, found, pairs)
    in_scope = [(t, f) for t, f in pairs if truth[t].name in scored]
    correct = sum(truth[t].name in scored for t, _ in right)
    characters = sum(mark.name in scored for mark in truth)
    return Score(
        characters=characters,
        detections=len(found),
        correct=correct,
        false_positives=len(found) - len(pairs),
        substitutions=len(in_scope) - correct,
        missed=characters - len(in_scope),
        types=len(scored),
        types_found=len({truth[t].name for t, _ in right} & scored),
    )


def pair(truth: list[Mark], found: list[Mark]) -> list[tuple[int, int]]:
    """Pair one to one, nearest centres first, where the centres are close enough."""
    if not truth or not found:
        return []
    centres, found_centres = _centres(truth), _centres(found)
    sizes = np.array([max(b[2] - b[0], b[3] - b[1]) for b in (mark.box for mark in truth)])
    near = cKDTree(found_centres).query_ball_point(centres, REACH * sizes)
    candidates = [
        (float(np.hypot(*(centres[t] - found_centres[f]))), t, f) for t, places in enumerate(near) for f in places
    ]
    taken_truth: set[int] = set()
    taken_found: set[int] = set()
    pairs = []
    for distance, t, f in sorted(candidates):
        if distance < REACH * sizes[t] and t not in taken_truth and f not in taken_found:
            taken_truth.add(t)
            taken_found.add(f)
            pairs.append((t, f))
    return pairs


def right_pairs(truth: list[Mark], found: list[Mark], pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Give the pairs whose class stands for the true label: that which most of the class's pairs have."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for t, f in pairs:
        votes[found[f].name][truth[t].name] += 1
    stands_for = {name: min(labels, key=lambda label: (-labels[label], label)) for name, labels in votes.items()}
    return [(t, f) for t, f in pairs if stands_for[found[f].name] == truth[t].name]


def _centres(marks: list[Mark]) -> np.ndarray:
    return np.array([((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for b in (mark.box for mark in marks)], dtype=float)


def read_truth(path: Path) -> list[Mark]:
    """Read the characters of a truth file."""
    content = _read(path)
    return _marks(path, content, "label")


def read_result(path: Path, page: int = 0) -> list[Mark]:
    """Read the characters of one page of a result file."""
    return _marks(path, _page(path, page), "class")


def read_source(path: Path, page: int = 0) -> Path:
    """Read which file one page of a result file was cleaned from."""
    return Path(str(_page(path, page).get("source", "")))


def _page(path: Path, page: int) -> dict[str, object]:
    pages = _read(path).get("pages")
    if not isinstance(pages, list):
        raise InputError(f"{path} is no result of unblot: it has no pages")
    if not 0 <= page < len(pages):
        raise UsageError(f"--page {page} is not in {path}, which has {len(pages)} pages, counted from 0")
    return dict(pages[page])


def _read(path: Path) -> dict[str, object]:
    try:
        content = json.loads(read_text(path))
    except ValueError as error:
        raise InputError(f"{path} is no JSON file ({error})") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no JSON object")
    return content


def _marks(path: Path, page: dict[str, object], name: str) -> list[Mark]:
    try:
        return [
            Mark(str(row[name]), tuple(float(side) for side in row["box"]))  # type: ignore[arg-type]
            for row in page["characters"]  # type: ignore[attr-defined]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} does not list its characters with {name} and box") from error
