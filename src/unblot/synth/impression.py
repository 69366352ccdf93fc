"""Type, and what it leaves on paper: crisp, or worn so that no two impressions are alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw, ImageFont

from unblot.errors import InputError, UsageError

INK = 0.92  # darkness of full ink


@dataclass(frozen=True)
class Type:
    """One type: its ink from 0 to 1 in a square, where its baseline begins in it, and how far the next one stands."""

    ink: Float[np.ndarray, "H W"]
    origin: tuple[float, float]
    advance: float


def cast(characters: str, font: Path | None, size: float, turns: dict[str, float]) -> dict[str, Type]:
    """Make the types of some characters; `turns` gives degrees by which a type stands turned."""
    try:
        face = ImageFont.load_default(size) if font is None else ImageFont.truetype(str(font), size)
    except OSError as error:
        raise InputError(f"cannot read the font {font}; give a TrueType or OpenType file") from error
    types = {label: _cast(label, face, size, turns.get(label, 0.0)) for label in sorted(set(characters))}
    for label, made in types.items():
        if made.ink.max() < 0.5:
            raise UsageError(f"the font draws nothing for {label!r}; choose other characters or another --font")
    return types


def _cast(label: str, face: ImageFont.FreeTypeFont | ImageFont.ImageFont, size: float, turn: float) -> Type:
    side = int(3 * size)
    image = Image.new("L", (side, side))
    ImageDraw.Draw(image).text((side / 2, side / 2), label, fill=255, font=face, anchor="ls")
    if turn:
        left, top, right, bottom = image.getbbox() or (0, 0, side, side)
        image = image.rotate(turn, Image.Resampling.BICUBIC, center=((left + right) / 2, (top + bottom) / 2))
    ink = np.asarray(image, np.float32) / 255
    return Type(ink, (side / 2, side / 2), float(face.getlength(label)))


def impression(made: Type, dx: float, dy: float, wear: float, rng: np.random.Generator) -> np.ndarray:
    """Press a type onto paper, moved by a fraction of a pixel; `wear` from 0 to 1 turns, warps, breaks and thins it."""
    side = made.ink.shape[0]
    move = np.array([[1, 0, dx], [0, 1, dy]], np.float32)
    if wear == 0:
        return np.asarray(cv2.warpAffine(made.ink, move, (side, side), flags=cv2.INTER_LINEAR))
    degrees, scale = float(rng.normal(0, 1.5 * wear)), 1 + float(rng.normal(0, 0.02 * wear))
    turn = np.asarray(cv2.getRotationMatrix2D(made.origin, degrees, scale), np.float32)
    turn[:, 2] += move[:, 2]
    ink = np.asarray(cv2.warpAffine(made.ink, turn, (side, side), flags=cv2.INTER_LINEAR))
    coarse, stroke = side / 12, side / 90
    rows, columns = np.indices(ink.shape, dtype=np.float32)
    warp = [0.35 * wear * stroke * smooth_noise(ink.shape, coarse, rng) for _ in range(2)]
    ink = np.asarray(cv2.remap(ink, columns + warp[0], rows + warp[1], cv2.INTER_LINEAR))
    pressure = float(rng.normal(0, 0.12 * wear)) + 0.12 * wear * smooth_noise(ink.shape, coarse, rng)
    pressure = np.clip(pressure, -0.3, 0.35)
    soft = cv2.GaussianBlur(ink, (0, 0), max(0.6, 0.8 * stroke * wear))
    ink = np.clip((soft - 0.5 - pressure) / 0.35 + 0.5, 0, 1) * (soft > 0.02)
    gaps = np.clip((smooth_noise(ink.shape, side / 25, rng) - 2.6 + 0.9 * wear) * 2, 0, 1)
    density = np.clip(1 - wear * (0.25 * rng.random() + 0.12 * np.abs(smooth_noise(ink.shape, coarse, rng))), 0.3, 1)
    specks = (smooth_noise(ink.shape, 1.2, rng) > 4.6 - 0.7 * wear) & (cv2.dilate(ink, np.ones((9, 9))) > 0.5)
    return np.asarray(np.maximum(ink * density * (1 - gaps), 0.6 * specks), np.float32)


def smooth_noise(shape: tuple[int, ...], scale: float, rng: np.random.Generator) -> Float[np.ndarray, "H W"]:
    """Give noise with unit variance that changes over `scale` pixels."""
    small = (max(2, round(shape[0] / scale)), max(2, round(shape[1] / scale)))
    noise = rng.standard_normal(small).astype(np.float32)
    grown = np.asarray(cv2.resize(noise, (shape[1], shape[0]), interpolation=cv2.INTER_CUBIC))
    return np.asarray(grown / max(float(grown.std()), 1e-6))
