"""Pages in and out: the only place that reads and writes pictures of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image, ImageOps, UnidentifiedImageError

from unblot.errors import InputError, UsageError
from unblot.files import write_whole
from unblot.png import encode

MOST_PIXELS = 1_000_000_000  # a page larger than this is no page, and would not fit into memory
LUMINANCE = (0.299, 0.587, 0.114)
FORMATS = {".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF"}


@dataclass(frozen=True)
class Page:
    """A page as it was read: 8 bits a channel, grey or colour, upright, with its resolution if it names one."""

    pixels: UInt8[np.ndarray, "H W"] | UInt8[np.ndarray, "H W 3"]
    dpi: tuple[float, float] | None = None
    source: str = ""

    @property
    def height(self) -> int:
        """The number of rows."""
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.pixels.shape[1])

    def grey(self) -> Float[np.ndarray, "H W"]:
        """Give the page's lightness, 0 for black and 1 for white, as it lies on the paper."""
        return _lightness(self.pixels)

    def light_on_dark(self) -> bool:
        """Tell whether the writing is lighter than the paper: most of a page is paper."""
        return bool(np.median(_lightness(self.pixels[::4, ::4])) < 0.5)

    def darkness(self) -> Float[np.ndarray, "H W"]:
        """Give 0 for paper and 1 for ink, whichever of the two is the lighter."""
        return darkness(self.pixels, self.light_on_dark())


def darkness(pixels: np.ndarray, light_on_dark: bool) -> Float[np.ndarray, "H W"]:
    """Give 0 for paper and 1 for ink, in some rows of a page of which it is known which of the two is the lighter."""
    grey = _lightness(pixels)
    return grey if light_on_dark else np.subtract(1, grey, out=grey)


def _lightness(pixels: np.ndarray) -> Float[np.ndarray, "H W"]:
    if pixels.ndim == 2:
        return np.asarray(cv2.LUT(np.ascontiguousarray(pixels), np.arange(256, dtype=np.float32) / np.float32(255)))
    return np.asarray(pixels.astype(np.float32) / 255 @ np.array(LUMINANCE, np.float32))


def read_page(path: Path | str) -> Page:
    """Read a PNG, JPEG or TIFF of any depth: grey, colour, palette or transparent, turned as its EXIF data says."""
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with Image.open(path) as image:
            if image.width * image.height > MOST_PIXELS:
                raise InputError(f"{path} has {image.width}x{image.height} pixels, too many for a page; scale it down")
            dpi = image.info.get("dpi")
            image.load()
            pixels = _eight_bits(ImageOps.exif_transpose(image))
    except UnidentifiedImageError as error:
        raise InputError(f"{path} is no picture that can be read; give a PNG, JPEG or TIFF file") from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise InputError(f"cannot read {path}: {error.strerror}; give a PNG, JPEG or TIFF file") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise InputError(f"{path} is damaged or cut short ({error}); scan or copy it again") from error
    finally:
        Image.MAX_IMAGE_PIXELS = limit
    return Page(pixels, _resolution(dpi), str(path))


def check_format(path: Path) -> str:
    """Give the format that a name asks for, or refuse it."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"cannot write {path}: its name must end in {', '.join(FORMATS)}")
    return kind


def write_page(page: Page, path: Path | str) -> None:
    """Write a PNG or TIFF with the page's resolution, whole or not at all."""
    path = Path(path)
    kind = check_format(path)
    if kind == "PNG":
        data = encode(page.pixels, page.dpi)
        write_whole(path, lambda partial: partial.write_bytes(data))
        return
    options: dict[str, object] = {} if page.dpi is None else {"dpi": page.dpi}
    image = Image.fromarray(page.pixels)
    write_whole(path, lambda partial: image.save(partial, format=kind, compression="tiff_deflate", **options))


def _eight_bits(image: Image.Image) -> np.ndarray:
    """Turn any mode into 8-bit grey or colour; what is transparent becomes white paper."""
    if image.mode in ("1", "L"):
        return np.asarray(image.convert("L"))
    if image.mode.startswith(("I", "F")):
        return _scaled(np.asarray(image), image.mode)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    pixels = np.asarray(image.convert("RGB"))
    colourless = (pixels[..., 0] == pixels[..., 1]).all() and (pixels[..., 1] == pixels[..., 2]).all()
    return np.ascontiguousarray(pixels[..., 0]) if colourless else pixels


def _scaled(values: np.ndarray, mode: str) -> np.ndarray:
    """Bring deep grey values to 8 bits: 16 bits by their range, floating point by 0 to 1, others by what they hold."""
    values = np.nan_to_num(values.astype(np.float64))
    if mode == "F" and values.min() >= 0 and values.max() <= 1:
        top = 1.0
    elif values.min() >= 0 and values.max() <= 255 and mode != "I;16":
        top = 255.0
    elif values.min() >= 0 and values.max() <= 65535:
        top = 65535.0
    else:
        values, top = values - values.min(), max(float(np.ptp(values)), 1.0)
    return np.clip(np.rint(values * (255 / top)), 0, 255).astype(np.uint8)


def _resolution(dpi: object) -> tuple[float, float] | None:
    """Keep a resolution that makes sense, drop one that does not."""
    if isinstance(dpi, tuple) and len(dpi) == 2:
        x, y = float(dpi[0]), float(dpi[1])
        if 1 <= x <= 10_000 and 1 <= y <= 10_000:
            return x, y
    return None
