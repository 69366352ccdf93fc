"""The hand-written float32 functions against the library's, over everything they can meet."""

from __future__ import annotations

import numba
import numpy as np
import torch

from unblot.inference import kernels_cpu


def test_softplus_and_sigmoid_are_accurate_everywhere():
    @numba.njit
    def both(z, a, b):
        for k in range(len(z)):
            a[k] = kernels_cpu._softplus(z[k])
            b[k] = kernels_cpu._sigmoid(z[k])

    edges = np.array([0, -0.0, 1e-30, -1e-30, 87, -87, 88, -88, 1e5, -1e5, 3e38, -3e38])
    grid = np.concatenate([np.linspace(-120, 120, 200_001), edges])
    for dtype, tolerance in ((np.float32, 1e-6), (np.float64, 1e-14)):
        z = grid.astype(dtype)
        a, b = np.empty_like(z), np.empty_like(z)
        both(z, a, b)
        exact = torch.from_numpy(z).double()
        expected = torch.logaddexp(exact, torch.zeros_like(exact)).numpy()
        np.testing.assert_allclose(a, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(b, torch.sigmoid(exact).numpy(), rtol=tolerance, atol=tolerance)
