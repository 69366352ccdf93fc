from __future__ import annotations

import numpy as np
import torch

from unblot.cleaning.worn import worn_seeds
from unblot.grid import FRAME, make_grid
from unblot.learning.seeds import Seed


def test_classes_without_ink_that_most_examples_have_teach_no_wear():
    rng = np.random.default_rng(0)
    grid = make_grid(rng.random((300, 300)).astype(np.float32), 48.0, torch.device("cpu"))
    faint = Seed(rng.integers(60, 100, (20, 2)), np.full(FRAME, 0.1, np.float32))
    assert worn_seeds(grid, [faint]) is None
