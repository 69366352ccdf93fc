"""Shapes and types of everything but the compiled loops are checked while the tests run."""

from __future__ import annotations

from jaxtyping import install_import_hook

CHECKED = [
    "unblot.model",
    "unblot.learning",
    "unblot.experiments",
    "unblot.detection",
    "unblot.patches",
    "unblot.features",
    "unblot.ink",
    "unblot.grid",
    "unblot.scale",
    "unblot.cleaning",
    "unblot.pipeline",
] + [f"unblot.inference.{name}" for name in ("batch", "estep", "kernels_torch", "masks", "truncation")]
install_import_hook(CHECKED, "beartype.beartype")

import pytest  # noqa: E402
import torch  # noqa: E402

from unblot.inference import estep, kernels_cpu, kernels_torch, truncation  # noqa: E402

torch.set_num_threads(2)

BACKENDS = {"cpu": (kernels_cpu, "cpu"), "torch": (kernels_torch, "cpu"), "cuda": (kernels_torch, "cuda")}


@pytest.fixture(params=list(BACKENDS))
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """Run a test with the compiled loops, with the tensor operations, and on a GPU where there is one."""
    kernels, name = BACKENDS[request.param]
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA GPU on this machine")
    for module in (estep, truncation):
        monkeypatch.setattr(module, "kernels_for", lambda _: kernels)
    return torch.device(name)
