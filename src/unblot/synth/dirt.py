"""What happens to paper: pen strokes, scribbles, ink blots, coffee rings, grey spots.

Each kind gives a sheet of darkness from 0 to 1; sheets are laid over one another like films.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np
from jaxtyping import Float

from unblot.score import Box
from unblot.synth.impression import smooth_noise

Sheet = Float[np.ndarray, "H W"]


def lay_over(sheet: Sheet, film: Sheet) -> Sheet:
    """Let light pass both."""
    return np.asarray(1 - (1 - sheet) * (1 - film))


def strokes(shape: tuple[int, int], amount: float, size: float, words: list[Box], rng: np.random.Generator) -> Sheet:
    """Draw long bent pen strokes."""
    sheet = np.zeros(shape, np.float32)
    for _ in range(rng.poisson(70 * amount)):
        start = rng.uniform((-0.05, -0.05), (1.05, 1.05)) * shape[::-1]
        length, angle = rng.uniform(0.1, 0.6) * shape[1], rng.uniform(0, math.tau)
        bend = rng.normal(0, 0.25, 2) * length
        forward, side = np.array([math.cos(angle), math.sin(angle)]), np.array([-math.sin(angle), math.cos(angle)])
        controls = [
            start,
            start + forward * length / 3 + side * bend[0],
            start + forward * length * 2 / 3 + side * bend[1],
        ]
        _pen(sheet, _bezier(np.array([*controls, start + forward * length])), rng.uniform(0.03, 0.16) * size, rng)
    return sheet


def scribbles(shape: tuple[int, int], amount: float, size: float, words: list[Box], rng: np.random.Generator) -> Sheet:
    """Strike words through with zigzags."""
    sheet = np.zeros(shape, np.float32)
    count = min(len(words), int(rng.poisson(3 * amount)))
    for number in rng.choice(len(words), count, replace=False) if count else ():
        x0, y0, x1, y1 = words[int(number)]
        turns = max(4, round((x1 - x0) / (0.35 * size)))
        xs = np.linspace(x0, x1, turns) + rng.normal(0, 0.08 * size, turns)
        ys = np.where(np.arange(turns) % 2, y0, y1) + rng.normal(0, 0.1 * size, turns)
        _pen(sheet, np.stack([xs, ys], 1), rng.uniform(0.04, 0.09) * size, rng)
    return sheet


def blots(shape: tuple[int, int], amount: float, size: float, words: list[Box], rng: np.random.Generator) -> Sheet:
    """Drop ink: nearly black, uneven at the rim, with splashes."""
    sheet = np.zeros(shape, np.float32)
    for _ in range(rng.poisson(7 * amount)):
        centre, radius = rng.uniform(0, 1, 2) * shape[::-1], rng.uniform(0.3, 1.0) * size
        _disc(sheet, centre, radius, 0.95, rng)
        for _ in range(int(rng.integers(0, 5))):
            angle, far = rng.uniform(0, math.tau), radius * rng.uniform(1.1, 1.8)
            splash = centre + far * np.array([math.cos(angle), math.sin(angle)])
            _disc(sheet, splash, radius * rng.uniform(0.05, 0.15), 0.95, rng)
    return cv2.GaussianBlur(sheet, (0, 0), 1.0)


def rings(shape: tuple[int, int], amount: float, size: float, words: list[Box], rng: np.random.Generator) -> Sheet:
    """Put a cup down: a dark broken rim around a light stain."""
    sheet = np.zeros(shape, np.float32)
    for _ in range(rng.poisson(1.0 * amount)):
        centre, radius = rng.uniform(0.1, 0.9, 2) * shape[::-1], rng.uniform(5, 9) * size
        rows, columns = np.indices(shape, dtype=np.float32)
        rough = 0.04 * radius * smooth_noise(shape, radius / 3, rng)
        distance = np.hypot(columns - centre[0], rows - centre[1]) + rough
        rim = np.exp(-(((distance - radius) / (0.12 * size)) ** 2)) * (
            0.3 + 0.15 * smooth_noise(shape, radius / 2, rng)
        )
        stain = 0.04 * (1 - np.tanh((distance - radius) / (0.1 * size)))
        sheet = lay_over(sheet, np.clip(rim, 0, 0.6) + stain)
    return sheet.astype(np.float32)


def spots(shape: tuple[int, int], amount: float, size: float, words: list[Box], rng: np.random.Generator) -> Sheet:
    """Leave grey spots, each of a few overlapping discs with soft rims."""
    sheet = np.zeros(shape, np.float32)
    for _ in range(rng.poisson(40 * amount)):
        centre, radius, grey = rng.uniform(0, 1, 2) * shape[::-1], rng.uniform(0.6, 2.2) * size, rng.uniform(0.25, 0.65)
        for _ in range(int(rng.integers(2, 6))):
            _disc(sheet, centre + rng.normal(0, 0.6, 2) * radius, radius * rng.uniform(0.4, 1.0), grey, rng)
    return cv2.GaussianBlur(sheet, (0, 0), 0.08 * size)


Kind = Callable[[tuple[int, int], float, float, list[Box], np.random.Generator], Sheet]
KINDS: dict[str, Kind] = {
    "strokes": strokes,
    "scribbles": scribbles,
    "blots": blots,
    "rings": rings,
    "spots": spots,
}


def scanned(darkness: Sheet, noise: float, rng: np.random.Generator) -> Float[np.ndarray, "H W"]:
    """Look at the sheet through a scanner: a little blur, grain, paper that is not quite white."""
    lightness = 0.985 - 0.95 * cv2.GaussianBlur(darkness, (0, 0), 0.7)
    grain = rng.standard_normal(darkness.shape, dtype=np.float32)
    return np.clip(lightness + noise * grain, 0, 1)


def _bezier(controls: np.ndarray) -> np.ndarray:
    t = np.linspace(0, 1, 80)[:, None]
    a, b, c, d = controls
    return np.asarray((1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d)


def _pen(sheet: Sheet, line: np.ndarray, width: float, rng: np.random.Generator) -> None:
    """Draw a line with round pen pressure into the sheet, the darker of the two winning."""
    colour = float(rng.uniform(0.55, 0.97))
    film = np.zeros_like(sheet)
    points = np.rint(line * 16).astype(np.int32)
    cv2.polylines(film, [points], False, colour, max(1, round(width)), cv2.LINE_AA, 4)
    np.maximum(sheet, film, out=sheet)


def _disc(sheet: Sheet, centre: np.ndarray, radius: float, value: float, rng: np.random.Generator) -> None:
    """Fill a disc whose rim wavers."""
    angles = np.linspace(0, math.tau, 48, endpoint=False)
    waves = [rng.normal(0, 0.05) * np.cos(n * angles + rng.uniform(0, math.tau)) for n in (2, 3, 5)]
    rim = np.stack([np.cos(angles), np.sin(angles)], 1) * (radius * (1 + np.sum(waves, 0)))[:, None] + centre
    cv2.fillPoly(sheet, [np.rint(rim * 16).astype(np.int32)], value, cv2.LINE_AA, 4)
