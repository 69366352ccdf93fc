"""Feature maps of a page (Sec. 4): magnitudes of Gabor responses at every third pixel.

A Gabor filter with a round envelope, exp(-(x^2 + y^2) / 2s^2) exp(i (k_x x + k_y y)), is a product of a function of x
and one of y: each response is two one-dimensional convolutions, and orientations that mirror each other share them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as nn
from jaxtyping import Float
from torch import Tensor

from unblot.errors import UsageError

STRIDE = 3  # pixels between feature vectors
REACH = 4.0  # envelopes end after so many standard deviations
BLOCK = 16  # places that one banded matrix filters
BLUR = 2.0  # standard deviation of the smoothing before every third pixel is taken; aliases fall below 1 %


@dataclass(frozen=True)
class GaborBank:
    """Scales k = k_max / spacing^v and orientations j pi / n, envelopes with standard deviation sigma / k.

    Envelopes of half a wave: with wider ones a pen stroke spoils the features of everything around it.
    """

    scales: int = 5
    orientations: int = 8
    k_max: float = math.pi / 2
    spacing: float = 1.25
    sigma: float = math.pi

    def __post_init__(self) -> None:
        """Refuse a bank that filters nothing, or waves shorter than two pixels."""
        if self.scales < 1 or self.orientations < 1:
            raise UsageError("a Gabor bank needs at least one scale and one orientation")
        if not 0 < self.k_max <= math.pi or self.spacing < 1 or self.sigma <= 0:
            raise UsageError("a Gabor bank needs 0 < k_max <= pi, spacing >= 1 and sigma > 0")

    @property
    def F(self) -> int:
        """The number of features."""
        return self.scales * self.orientations

    @property
    def reach(self) -> int:
        """The number of pixels that a feature vector looks around itself."""
        return math.ceil(REACH * self.sigma / self.frequency(self.scales - 1))

    def frequency(self, scale: int) -> float:
        """Give k of a scale, in radians a pixel."""
        return self.k_max / self.spacing**scale


def gabor_features(darkness: Float[Tensor, "H W"], bank: GaborBank) -> Float[Tensor, "G1 G2 F"]:
    """Give the magnitudes of the bank's responses at rows and columns 0, 3, 6, ...; the edge goes on beyond the page.

    Features are ordered scale by scale, each with its orientations. Scales with slow waves are filtered on every third
    pixel of a smoothed page; the smoothing is taken out of the envelope, so that the whole is the same filter.

    >>> gabor_features(torch.zeros(30, 45), GaborBank()).shape
    torch.Size([10, 15, 40])
    """
    smoothing = _gaussian(BLUR)[None]
    small = _filtered(_filtered(darkness, smoothing, STRIDE)[0].T, smoothing, STRIDE)[0].T
    maps = []
    for scale in range(bank.scales):
        k = bank.frequency(scale)
        s = bank.sigma / k
        if k * STRIDE <= math.pi * 0.6 and s > 2 * BLUR:
            s_left = math.sqrt(s**2 - BLUR**2)
            k_left = k * s**2 / s_left**2
            gain = math.exp(0.5 * bank.sigma**2 * (s**2 / s_left**2 - 1))
            maps.append(gain * _magnitudes(small, k_left * STRIDE, s_left / STRIDE, bank.orientations, 1))
        else:
            maps.append(_magnitudes(darkness, k, s, bank.orientations, STRIDE))
    return torch.cat(maps).permute(1, 2, 0).contiguous()


def _magnitudes(
    image: Float[Tensor, "H W"], k: float, s: float, orientations: int, stride: int
) -> Float[Tensor, "orientations G1 G2"]:
    """Give |response| of every orientation at one scale, without what a constant image would answer."""
    envelope = _gaussian(s)
    offsets = torch.arange(len(envelope)) - len(envelope) // 2
    angles = [math.pi * j / orientations for j in range(orientations // 2 + 1)]

    def waves(frequency: float) -> Float[Tensor, "two L"]:
        return torch.stack([envelope * torch.cos(frequency * offsets), envelope * torch.sin(frequency * offsets)])

    across = [waves(k * math.cos(angle)) for angle in angles]
    along = [waves(k * math.sin(angle)) for angle in angles]
    columns = _filtered(image, torch.cat([*across, envelope[None]]), stride)  # [2 angles + 1, H, G2]
    constant = _filtered(columns[-1].T, envelope[None], stride)[0]
    found: dict[int, Tensor] = {}
    for j, kernels in enumerate(along):
        (cc, sc), (cs, ss) = _filtered(columns[2 * j : 2 * j + 2].transpose(1, 2), kernels, stride)  # [2, 2, G2, G1]
        offset = float(across[j][0].sum() * kernels[0].sum()) * constant
        found[j] = torch.hypot(cc - ss - offset, sc + cs)
        found[(orientations - j) % orientations] = torch.hypot(cc + ss - offset, sc - cs) if j else found[j]
    return torch.stack([found[j].T for j in range(orientations)])


def _gaussian(s: float) -> Float[Tensor, " L"]:
    """Give a Gaussian that sums to one."""
    offsets = torch.arange(-math.ceil(REACH * s), math.ceil(REACH * s) + 1)
    values = torch.exp(-0.5 * (offsets / s) ** 2)
    return values / values.sum()


def _filtered(lines: Float[Tensor, "*lines n"], kernels: Float[Tensor, "count L"], stride: int) -> Tensor:
    """Filter lines with every kernel, keeping every so-many-th place: [count, lines, places].

    A block of neighbouring places is one product with a banded matrix, so that all of it is one large GEMM.
    """
    count, L = kernels.shape
    places = -(-lines.shape[-1] // stride)
    blocks = -(-places // BLOCK)
    span = (BLOCK - 1) * stride + L
    banded = torch.zeros(BLOCK, count, span).to(lines)
    for place in range(BLOCK):
        banded[place, :, place * stride : place * stride + L] = kernels
    missing = (blocks - 1) * BLOCK * stride + span - lines.shape[-1] - L // 2
    padded = nn.pad(lines.reshape(1, -1, lines.shape[-1]), (L // 2, missing), mode="replicate")[0]
    windows = padded.unfold(-1, span, BLOCK * stride)  # [lines, blocks, span]
    out = torch.einsum("lbs,pcs->clbp", windows, banded)
    return out.reshape(count, *lines.shape[:-1], blocks * BLOCK)[..., :places]
