"""The world of the artificial data: five coloured characters on a background of mixed Gaussians (Sec. 4)."""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from unblot.model.theta import Theta

CHARACTERS = "abesy"
# Mean colour at the left and right end of each character, and the standard deviation at its top and bottom.
COLOURS = (
    ((0.95, 0.10, 0.15), (0.95, 0.55, 0.10)),
    ((0.10, 0.75, 0.20), (0.05, 0.95, 0.75)),
    ((0.15, 0.20, 0.95), (0.65, 0.10, 0.95)),
    ((0.95, 0.90, 0.10), (0.60, 0.95, 0.15)),
    ((0.05, 0.85, 0.95), (0.10, 0.40, 0.90)),
)
DEVIATIONS = ((0.04, 0.10), (0.10, 0.04), (0.05, 0.09), (0.09, 0.05), (0.07, 0.07))
MASK = 0.95  # a feature of a character is missing in one patch of twenty

# Each channel's background: weights, means and standard deviations of a mixture of Gaussians.
MIXTURES = (
    ((0.6, 0.30, 0.10), (0.4, 0.70, 0.08)),
    ((0.5, 0.25, 0.08), (0.5, 0.60, 0.12)),
    ((0.3, 0.20, 0.06), (0.7, 0.55, 0.12)),
)


def generating_theta(size: int) -> Theta:
    """Give the parameters the patches are drawn with: five coloured characters on patterns of `size` x `size`."""
    A = torch.stack([MASK * _glyph(character, size) for character in CHARACTERS])
    along = torch.linspace(0, 1, size)
    colours, deviations = torch.tensor(COLOURS), torch.tensor(DEVIATIONS)
    W = torch.lerp(colours[:, 0, None], colours[:, 1, None], along[:, None])  # [C, P2, F], from left to right
    W = W[:, None].expand(-1, size, -1, -1)
    sigma = torch.lerp(deviations[:, :1], deviations[:, 1:], along)  # [C, P1], from top to bottom
    Phi = (sigma**2)[:, :, None, None].expand_as(W)
    return Theta(W.clone(), Phi.clone(), A, torch.full((len(CHARACTERS),), 1 / len(CHARACTERS)))


def _glyph(character: str, size: int) -> Float[Tensor, "size size"]:
    """Draw a character in the middle of a square, one where there is ink."""
    image = Image.new("L", (size, size))
    font = ImageFont.load_default(size * 0.9)
    ImageDraw.Draw(image).text((size / 2, size / 2), character, fill=255, font=font, anchor="mm")
    return torch.from_numpy(np.asarray(image) > 127).float()


def draw_background(count: int, generator: torch.Generator) -> Float[Tensor, "count 3"]:
    """Draw colours of the mixture, each channel by itself."""
    channels = []
    for mixture in MIXTURES:
        weights, means, deviations = torch.tensor(mixture).T
        component = torch.multinomial(weights, count, replacement=True, generator=generator)
        channels.append(means[component] + deviations[component] * torch.randn(count, generator=generator))
    return torch.stack(channels, 1)


def background_density(channel: int, values: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Give the true density of one channel, to draw beside the histogram."""
    weights, means, deviations = torch.tensor(MIXTURES[channel]).T[..., None]
    bumps = torch.exp(-0.5 * ((values - means) / deviations) ** 2) / (deviations * math.tau**0.5)
    density: Tensor = (weights * bumps).sum(0)
    return density
