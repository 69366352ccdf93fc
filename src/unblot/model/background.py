"""H_B, the histogram density of features that belong to no pattern (Sec. 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unblot.errors import UsageError

UNIFORM_BINS = 64
QUANTILE_BINS = 64
SMALLEST_BIN = 1e-3  # of a feature's range: finer bins would make a single repeated value infinitely dense
PSEUDO_COUNT = 0.5  # a bin that no value fell into keeps a density, so that log H_B is finite
MOST_VALUES = 400_000  # more values a feature do not sharpen the histogram


@dataclass(frozen=True)
class Background:
    """H_B(y) = prod_f h_f(y_f), h_f constant within each bin.

    Bins are the union of equally wide ones and of quantiles: the former follow the tails, the latter resolve
    the narrow peak that blank paper makes. Beyond the outermost edges the density of the outermost bin goes on.
    """

    edges: Float[Tensor, "F E"]
    log_density: Float[Tensor, "F B"]
    bins: Int[Tensor, " F"]

    @property
    def F(self) -> int:
        """The number of features."""
        return self.edges.shape[0]

    def log_prob(self, y: Float[Tensor, "*shape F"]) -> Float[Tensor, "*shape"]:
        """Give log H_B(y), summed over the features."""
        values = y.reshape(-1, self.F).T.contiguous()  # [F, M]
        return self.feature_log_prob(values).sum(0).reshape(y.shape[:-1])

    def feature_log_prob(self, values: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        """Give log h_f(y_f), a row a feature."""
        place = torch.searchsorted(self.edges.to(values.dtype), values, right=True) - 1
        place = torch.minimum(place.clamp_(min=0), self.bins[:, None] - 1)
        return self.log_density.to(values.dtype).gather(1, place)

    def resolution(self) -> Float[Tensor, " F"]:
        """Give the smallest variance the bins can tell from a narrower one, a feature."""
        widths = self.edges[:, 1:] - self.edges[:, :-1]
        inside = torch.arange(widths.shape[1], device=widths.device) < self.bins[:, None]
        return torch.where(inside, widths, torch.inf).amin(1) ** 2

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Background:
        """Give the same histograms on another device or in another precision."""
        return replace(
            self,
            edges=self.edges.to(device, dtype),
            log_density=self.log_density.to(device, dtype),
            bins=self.bins.to(device),
        )


def fit_background(Y: Float[Tensor, "*shape F"]) -> Background:
    """Build H_B from all feature vectors of the data; it then stays fixed (Sec. 2).

    >>> background = fit_background(torch.linspace(0, 1, 10_001)[:, None])
    >>> round(float(background.log_prob(torch.tensor([0.505]))), 2)
    0.0
    """
    values = Y.reshape(-1, Y.shape[-1])
    if values.shape[0] == 0:
        raise UsageError("the data is empty: there is nothing to build the background from")
    stride = -(-values.shape[0] // MOST_VALUES)
    columns = values[::stride].T.to("cpu", torch.float64).numpy()  # [F, M]
    if not np.isfinite(columns).all():
        raise UsageError("the data holds values that are not finite (NaN or infinity); clean it before learning")
    histograms = [_histogram(column) for column in columns]
    most = max(len(density) for _, density in histograms)
    edges = np.stack([np.pad(e, (0, most + 1 - len(e)), constant_values=np.inf) for e, _ in histograms])
    log_density = np.stack([np.pad(d, (0, most - len(d))) for _, d in histograms])
    bins = np.array([len(d) for _, d in histograms])
    return Background(
        torch.from_numpy(edges).to(Y.device, Y.dtype),
        torch.from_numpy(log_density).to(Y.device, Y.dtype),
        torch.from_numpy(bins).to(Y.device),
    )


def _histogram(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give edges and log densities of one feature."""
    low, high = float(values.min()), float(values.max())
    width = high - low
    if width == 0:
        width = max(abs(low), 1.0) * 1e-3
        low, high = low - width / 2, low + width / 2
    quantiles = np.quantile(values, np.linspace(0, 1, QUANTILE_BINS + 1))
    candidates = np.union1d(np.linspace(low, high, UNIFORM_BINS + 1), quantiles)
    edges = [low]
    for edge in candidates:
        if edge - edges[-1] >= width * SMALLEST_BIN and high - edge >= width * SMALLEST_BIN:
            edges.append(float(edge))
    edges.append(high)
    counts, kept = np.histogram(values, np.array(edges))
    mass = (counts + PSEUDO_COUNT) / (counts + PSEUDO_COUNT).sum()
    return kept, np.log(mass / np.diff(kept))
