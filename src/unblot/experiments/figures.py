"""The figures of the experiments, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unblot.errors import UsageError
from unblot.experiments.characters import background_density
from unblot.files import write_whole
from unblot.model.background import Background
from unblot.model.theta import Theta

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANNELS = ("R", "G", "B")
GAP = 2  # pixels between the pictures of a strip


def background(histogram: Background, path: Path) -> None:
    """Draw H_B of each channel against the density the background was drawn from (Fig. 2a)."""
    figure, axes = _figure(9, 2.6, 1, 3)
    for f, axis in enumerate(axes):
        edges = histogram.edges[f, : histogram.bins[f] + 1]
        density = histogram.log_density[f, : histogram.bins[f]].exp()
        values = torch.linspace(float(edges[0]), float(edges[-1]), 400)
        axis.stairs(density.numpy(), edges.numpy(), fill=True, color="#8fb3d9", label="histogram")
        axis.plot(values.numpy(), background_density(f, values).numpy(), color="#c0392b", label="true density")
        axis.set(title=CHANNELS[f], yticks=[], xlabel="value")
    axes[0].legend(frameon=False, fontsize=7)
    _save(figure, path)


def patches(Y: Float[Tensor, "N D1 D2 3"], path: Path) -> None:
    """Draw some patches side by side (Fig. 2b)."""
    figure, axes = _figure(9, 2, 1, len(Y))
    for axis, patch in zip(axes, Y, strict=True):
        axis.imshow(patch.clamp(0, 1).numpy(), interpolation="nearest")
        axis.set_axis_off()
    _save(figure, path)


def learning_course(course: list[tuple[int, Theta]], learned: Theta, truth: Theta, folder: Path) -> None:
    """Draw W, sigma and the masks over the iterations (Fig. 2c), then the aligned result above the truth."""
    rows = [(f"iteration {iteration}", theta) for iteration, theta in course]
    _parameters(rows, folder / "course.png")
    _parameters([("learned", _masked(learned)), ("true", _masked(truth))], folder / "learned.png")


def pieces(pictures: list[np.ndarray], path: Path, titles: list[str] | None = None) -> None:
    """Draw pictures side by side (Fig. 3a, c, d)."""
    figure, axes = _figure(1.7 * len(pictures), 2.4, 1, len(pictures), squeeze=False)
    for k, (axis, picture) in enumerate(zip(axes[0], pictures, strict=True)):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axis.set(xticks=[], yticks=[])
        if titles:
            axis.set_title(titles[k], fontsize=7)
    _save(figure, path)


def patterns(theta: Theta, path: Path) -> None:
    """Draw W and sigma as their maximum over the features, and the masks, a column a class (Fig. 3b)."""
    rows = [
        ("max W", theta.W.amax(3), "inferno"),
        ("mask A", theta.A, "gray"),
        (r"max $\sigma$", theta.Phi.sqrt().amax(3), "inferno"),
    ]
    figure, axes = _figure(0.9 * theta.C + 0.8, 4.2, len(rows), theta.C, squeeze=False)
    for line, (name, maps, colours) in zip(axes, rows, strict=True):
        for c, axis in enumerate(line):
            limits = {"vmin": 0, "vmax": 1} if name == "mask A" else {}
            axis.imshow(maps[c].cpu().numpy(), cmap=colours, interpolation="nearest", **limits)
            axis.set(xticks=[], yticks=[], frame_on=False)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    for c, axis in enumerate(axes[0]):
        axis.set_title(f"{float(theta.pi[c]):.2f}", fontsize=7)
    _save(figure, path)


def rows_of(pictures: list[tuple[str, np.ndarray]], path: Path) -> None:
    """Draw wide pictures under each other, each with its title (Fig. 3d)."""
    figure, axes = _figure(9, 1.5 * len(pictures), len(pictures), 1, squeeze=False)
    for axis, (title, picture) in zip(axes[:, 0], pictures, strict=True):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="bilinear")
        axis.set(xticks=[], yticks=[])
        axis.set_title(title, fontsize=8, loc="left")
    _save(figure, path)


def side_by_side(before: np.ndarray, after: np.ndarray, path: Path) -> None:
    """Draw a page and the clean page (Fig. 3e)."""
    height = 8 * before.shape[0] / before.shape[1] / 2 + 0.5
    figure, axes = _figure(8, height, 1, 2)
    for axis, picture, title in zip(axes, (before, after), ("before", "after"), strict=True):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=255, interpolation="bilinear")
        axis.set(xticks=[], yticks=[], title=title)
    _save(figure, path, dpi=180)


def _masked(theta: Theta) -> Theta:
    """Fade the means to white where the mask does not use them."""
    return replace(theta, W=1 - theta.A[..., None] * (1 - theta.W))


def _parameters(rows: list[tuple[str, Theta]], path: Path) -> None:
    """Draw a row of strips a theta: means as colours, deviations each by its own scale, masks from 0 to 1."""
    columns: list[tuple[str, Callable[[Theta], Tensor]]] = [
        ("W", lambda theta: theta.W.clamp(0, 1)),
        *((rf"$\sigma_{name}$", lambda theta, f=f: theta.Phi[..., f].sqrt()) for f, name in enumerate(CHANNELS)),
        ("mask A", lambda theta: theta.A),
    ]
    figure, axes = _figure(18, 0.85 * len(rows) + 0.4, len(rows), len(columns))
    for axis, (name, _) in zip(axes[0], columns, strict=True):
        axis.set_title(name)
    for axis_row, (title, theta) in zip(axes, rows, strict=True):
        for axis, (name, values) in zip(axis_row, columns, strict=True):
            maps = values(theta)
            if name == "mask A":
                axis.imshow(_strip(maps), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            else:
                shown = maps if maps.ndim == 4 else _normalised(maps)
                axis.imshow(_strip(shown), cmap="inferno", interpolation="nearest")
            axis.set(xticks=[], yticks=[], frame_on=False)
        axis_row[0].set_ylabel(title, rotation=0, ha="right", va="center")
    _save(figure, path)


def _normalised(maps: Float[Tensor, "C P1 P2"]) -> Float[Tensor, "C P1 P2"]:
    low, high = maps.amin((1, 2), keepdim=True), maps.amax((1, 2), keepdim=True)
    return (maps - low) / (high - low).clamp_min(1e-12)


def _strip(maps: Tensor) -> Tensor:
    """Lay the pictures of the classes side by side with a white gap."""
    gap = torch.full((maps.shape[1], GAP, *maps.shape[3:]), 1.0 if maps.ndim == 4 else torch.nan)
    return torch.cat([part for picture in maps for part in (picture, gap)][:-1], 1)


def check() -> None:
    """Refuse early, before minutes of work, where figures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise UsageError("figures need matplotlib; install it with: pip install 'unblot[figures]'")


def _figure(width: float, height: float, rows: int, columns: int, squeeze: bool = True) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=squeeze)


def _save(figure: Figure, path: Path, dpi: int = 110) -> None:
    write_whole(path, lambda partial: figure.savefig(partial, format="png", dpi=dpi, metadata={"Software": None}))
