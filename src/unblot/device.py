"""Where the arithmetic runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unblot.errors import UsageError

if TYPE_CHECKING:
    import torch


def choose_device(name: str, method: str) -> torch.device:
    """Turn `auto`, `cpu` or `cuda` into a device that is there.

    Left to itself, a GPU is for EM on patches, which it does a hundred times as fast. Reading a whole page is no work
    for it, and takes less time than it does to make a GPU ready.
    """
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device must be auto, cpu or cuda, not {name}")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda, but no CUDA GPU is usable here; use --device auto or cpu")
    if name == "auto":
        name = "cuda" if method == "patch" and torch.cuda.is_available() else "cpu"
    return torch.device(name)
