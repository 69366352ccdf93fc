from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from unblot.errors import InputError, OutputError, UsageError
from unblot.page import Page, read_page, write_page

GREY = np.full((30, 40), 250, np.uint8)
GREY[5:12, 8:30] = 20


def saved(path, image: Image.Image, **options):
    image.save(path, **options)
    return path


def ink(page: Page) -> np.ndarray:
    return page.darkness() > 0.5


WAYS = {
    "grey.png": lambda: Image.fromarray(GREY),
    "bits.png": lambda: Image.fromarray(GREY).convert("1", dither=Image.Dither.NONE),
    "colour.png": lambda: Image.fromarray(GREY).convert("RGB"),
    "palette.png": lambda: Image.fromarray(GREY).convert("RGB").quantize(8),
    "deep.png": lambda: Image.fromarray(GREY.astype(np.uint16) * 257),
    "deep.tif": lambda: Image.fromarray(GREY.astype(np.uint16) * 257),
    "float.tif": lambda: Image.fromarray(GREY.astype(np.float32) / 255),
    "wide.tif": lambda: Image.fromarray(GREY.astype(np.int32)),
    "cmyk.tif": lambda: Image.fromarray(GREY).convert("CMYK"),
    "grey.jpg": lambda: Image.fromarray(GREY),
}


@pytest.mark.parametrize("name", WAYS)
def test_every_kind_of_picture_shows_the_same_ink(name, tmp_path):
    page = read_page(saved(tmp_path / name, WAYS[name]()))
    assert page.pixels.dtype == np.uint8
    assert (page.width, page.height) == (40, 30)
    assert (ink(page) == (GREY < 128)).mean() > 0.99


def test_sixteen_bits_keep_their_range_when_the_page_is_dark(tmp_path):
    dark = np.full((10, 10), 200, np.uint16)
    assert read_page(saved(tmp_path / "dark.png", Image.fromarray(dark))).pixels.max() <= 1


def test_what_is_transparent_is_paper(tmp_path):
    rgba = np.zeros((30, 40, 4), np.uint8)
    rgba[..., 3] = np.where(GREY < 128, 255, 0)
    page = read_page(saved(tmp_path / "clear.png", Image.fromarray(rgba)))
    assert (ink(page) == (GREY < 128)).all()


def test_exif_rotation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to see it upright
    turned = Image.fromarray(GREY).rotate(90, expand=True)
    page = read_page(saved(tmp_path / "turned.jpg", turned, exif=exif, quality=95))
    assert (page.width, page.height) == (40, 30)
    assert (ink(page) == (GREY < 128)).mean() > 0.98


def test_light_writing_on_dark_paper_is_seen(tmp_path):
    page = read_page(saved(tmp_path / "night.png", Image.fromarray(255 - GREY)))
    assert page.light_on_dark()
    assert (ink(page) == (GREY < 128)).all()


@pytest.mark.parametrize("ending", ["png", "tif"])
def test_resolution_and_pixels_survive(ending, tmp_path):
    source = read_page(saved(tmp_path / "in.tif", Image.fromarray(GREY), dpi=(400, 300)))
    write_page(source, tmp_path / f"out.{ending}")
    back = read_page(tmp_path / f"out.{ending}")
    assert back.dpi == pytest.approx((400, 300), abs=0.1)
    assert np.array_equal(back.pixels, GREY)


def test_colour_stays_colour(tmp_path):
    pixels = np.stack([GREY, GREY // 2, GREY], -1)
    page = read_page(saved(tmp_path / "red.png", Image.fromarray(pixels)))
    write_page(page, tmp_path / "again.png")
    assert np.array_equal(read_page(tmp_path / "again.png").pixels, pixels)


def test_what_cannot_be_read_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_page(tmp_path / "none.png")
    with pytest.raises(InputError, match="cannot read"):
        read_page(tmp_path)
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(InputError, match="no picture"):
        read_page(tmp_path / "text.png")
    rng = np.random.default_rng(0)
    noisy = Image.fromarray(rng.integers(0, 255, (200, 200), dtype=np.uint8))
    for name in ("cut.png", "cut.jpg", "cut.tif"):
        whole = saved(tmp_path / name, noisy).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError):
            read_page(tmp_path / name)


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(UsageError, match="must end in"):
        write_page(Page(GREY), tmp_path / "a.jpg")
    with pytest.raises(OutputError, match="cannot write"):
        write_page(Page(GREY), tmp_path / "no" / "a.png")
    assert list(tmp_path.iterdir()) == []
