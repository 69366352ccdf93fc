from __future__ import annotations

import math

import pytest
import torch

from unblot.errors import UsageError
from unblot.model.background import fit_background


def test_density_integrates_to_one():
    background = fit_background(torch.randn(5000, 3, generator=torch.Generator().manual_seed(0)))
    widths = (background.edges[:, 1:] - background.edges[:, :-1]).nan_to_num(0, 0, 0)
    inside = torch.arange(widths.shape[1]) < background.bins[:, None]
    mass = torch.where(inside, widths * background.log_density.exp(), 0).sum(1)
    torch.testing.assert_close(mass, torch.ones(3))


def test_a_narrow_peak_is_resolved():
    """Blank paper: most values in a thousandth of the range; its density must not be smeared over a wide bin."""
    g = torch.Generator().manual_seed(0)
    blank = 0.002 * torch.randn(9000, 1, generator=g, dtype=torch.float64)
    ink = torch.rand(1000, 1, generator=g, dtype=torch.float64)
    background = fit_background(torch.cat([blank, ink]))
    at_peak = float(background.log_prob(torch.zeros(1, 1, dtype=torch.float64)))
    true_peak = math.log(0.9 / (0.002 * math.sqrt(2 * math.pi)))
    assert at_peak == pytest.approx(true_peak, abs=0.25)
    assert math.sqrt(float(background.resolution())) < 0.002


def test_log_prob_is_the_histogram_of_each_feature():
    Y = torch.randn(2000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    background = fit_background(Y)
    expected = 0.0
    for f, value in enumerate((0.3, -1.1)):
        edges = background.edges[f, : int(background.bins[f]) + 1]
        b = int((edges <= value).sum()) - 1
        count = ((Y[:, f] >= edges[b]) & (Y[:, f] < edges[b + 1])).sum()
        share = (count + 0.5) / (len(Y) + 0.5 * background.bins[f])
        expected += math.log(share / (edges[b + 1] - edges[b]))
    found = background.log_prob(torch.tensor([[0.3, -1.1]], dtype=torch.float64))
    assert float(found) == pytest.approx(expected)


def test_values_outside_the_data_have_the_density_of_the_outermost_bins():
    background = fit_background(torch.rand(1000, 1, generator=torch.Generator().manual_seed(0)))
    far, near = (background.log_prob(torch.tensor([[v]])) for v in (-5.0, float(background.edges[0, 0])))
    assert torch.equal(far, near)


def test_a_constant_feature_has_a_finite_density():
    background = fit_background(torch.full((100, 2), 3.0))
    assert bool(torch.isfinite(background.log_prob(torch.full((4, 2), 3.0))).all())


def test_bad_data_is_refused():
    with pytest.raises(UsageError, match="not finite"):
        fit_background(torch.tensor([[1.0], [float("nan")]]))
    with pytest.raises(UsageError, match="empty"):
        fit_background(torch.zeros(0, 3))
