from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as nn

from unblot.errors import UsageError
from unblot.features import STRIDE, GaborBank, gabor_features

SMALL = GaborBank(scales=5, orientations=4)


def picture(seed: int = 0, shape: tuple[int, int] = (240, 270)) -> torch.Tensor:
    """Strokes with soft edges, as a scan has them."""
    g = torch.Generator().manual_seed(seed)
    blobs = nn.interpolate(torch.rand(1, 1, 20, 24, generator=g), shape, mode="bicubic")[0, 0]
    return torch.sigmoid(30 * (blobs - 0.6))


def naive(image: torch.Tensor, bank: GaborBank, y: int, x: int) -> list[float]:
    """Multiply the page with every whole two-dimensional filter around one place."""
    answers = []
    for scale in range(bank.scales):
        k = bank.frequency(scale)
        s = bank.sigma / k
        reach = math.ceil(4 * s)
        padded = nn.pad(image[None, None].double(), (reach,) * 4, mode="replicate")[0, 0]
        window = padded[y : y + 2 * reach + 1, x : x + 2 * reach + 1]
        offset = torch.arange(-reach, reach + 1).double()
        envelope = torch.exp(-(offset[:, None] ** 2 + offset**2) / (2 * s**2))
        envelope /= envelope.sum()
        for j in range(bank.orientations):
            angle = math.pi * j / bank.orientations
            phase = k * (math.cos(angle) * offset + math.sin(angle) * offset[:, None])
            wave = torch.polar(torch.ones_like(phase), phase)
            answers.append(float((window * envelope * (wave - (envelope * wave).sum())).sum().abs()))
    return answers


@pytest.mark.parametrize("bank", [SMALL, GaborBank(orientations=3, scales=2, sigma=math.pi), GaborBank()], ids=str)
def test_features_are_the_responses_of_the_whole_filters(bank):
    image = picture()
    features = gabor_features(image, bank)
    assert features.shape == (80, 90, bank.F)
    for y, x in ((99, 120), (120, 96), (150, 180), (102, 171)):
        expected = torch.tensor(naive(image, bank, y, x))
        found = features[y // STRIDE, x // STRIDE]
        assert (found - expected).abs().max() < 0.03 * expected.max() + 1e-4


def test_a_constant_page_has_no_response():
    assert float(gabor_features(torch.full((120, 150), 0.7), SMALL).max()) < 1e-5
    bank = GaborBank(sigma=math.pi)  # whose filters would answer to a constant if nothing were taken off
    assert float(gabor_features(torch.full((120, 150), 0.7), bank).max()) < 1e-5


def test_a_wave_is_answered_at_its_scale_and_orientation():
    bank = GaborBank()
    y, x = torch.meshgrid(torch.arange(180.0), torch.arange(180.0), indexing="ij")
    for scale, orientation in ((0, 0), (1, 3), (2, 4), (3, 6), (4, 1)):
        k, angle = bank.frequency(scale), math.pi * orientation / 8
        wave = 0.5 + 0.5 * torch.cos(k * (math.cos(angle) * x + math.sin(angle) * y))
        response = gabor_features(wave, bank)[30, 30]
        assert int(response.argmax()) == 8 * scale + orientation
        assert float(response.max()) == pytest.approx(0.25, rel=0.03)


def test_moving_the_page_by_the_stride_moves_the_features():
    image = picture()
    here, there = gabor_features(image, SMALL), gabor_features(image.roll((6, 9), (0, 1)), SMALL)
    torch.testing.assert_close(there[32:60, 33:60], here[30:58, 30:57], rtol=1e-3, atol=1e-4)


def test_turning_the_page_turns_the_orientations():
    image = picture(shape=(241, 241))
    here = gabor_features(image, SMALL).reshape(81, 81, 5, 4)
    there = gabor_features(image.rot90(), SMALL).reshape(81, 81, 5, 4)
    torch.testing.assert_close(there[30:50, 30:50, :, [2, 3, 0, 1]], here.rot90()[30:50, 30:50], rtol=1e-3, atol=1e-4)


def test_bad_banks_are_refused():
    for bad in ({"scales": 0}, {"orientations": 0}, {"k_max": 4.0}, {"sigma": 0.0}, {"spacing": 0.5}):
        with pytest.raises(UsageError, match="Gabor bank"):
            GaborBank(**bad)
