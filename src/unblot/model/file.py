"""A learned model as a file: safetensors with a JSON header, never pickle."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from unblot.errors import InputError, UnblotError
from unblot.features import GaborBank
from unblot.files import write_whole
from unblot.grid import CELL, InkCells
from unblot.model.background import Background
from unblot.model.theta import Theta
from unblot.scale import scale_factor

FORMAT = "unblot-model"
VERSION = 1
FEATURES: dict[str, type[GaborBank] | type[InkCells]] = {"patch": GaborBank, "page": InkCells}


@dataclass(frozen=True)
class Model:
    """What was learned: the patterns, the background they were learned against, and what they look like on a page.

    `character` numbers the character that each class stands for, -1 for none; `pictures` hold its ink in the frame of
    the pattern, and `boxes` the box [x0, y0, x1, y1] around it: in pixels, or in cells in a model for whole pages.
    `typical` is the evidence that a class's examples have, of a model for whole pages.
    """

    theta: Theta
    background: Background
    D: tuple[int, int]
    bank: GaborBank | InkCells
    character: Int[Tensor, " C"]
    pictures: Float[Tensor, "C H W"]
    boxes: Int[Tensor, "C 4"]
    typical: Float[Tensor, " C"]

    @property
    def method(self) -> str:
        """The method that finds these patterns."""
        return "patch" if isinstance(self.bank, GaborBank) else "page"

    def size(self, c: int) -> tuple[int, int]:
        """Give width and height of a class in pixels of the page it was learned from."""
        scale = 1.0 if isinstance(self.bank, GaborBank) else CELL / scale_factor(self.bank.height)
        x0, y0, x1, y1 = self.boxes[c].tolist()
        return round(scale * (x1 - x0)), round(scale * (y1 - y0))

    def picture(self, c: int) -> Float[np.ndarray, "h w"]:
        """Give the ink of a class in its box."""
        x0, y0, x1, y1 = self.boxes[c].tolist()
        return np.asarray(self.pictures[c].numpy()[y0:y1, x0:x1])

    @property
    def known(self) -> list[int]:
        """The classes that are characters."""
        return [c for c, number in enumerate(self.character.tolist()) if number >= 0]

    @property
    def characters(self) -> int:
        """The number of characters that were learned."""
        return int(self.character.max()) + 1

    def to(self, device: torch.device | str) -> Model:
        """Give the same model with its patterns and its background on another device."""
        return replace(self, theta=self.theta.to(device), background=self.background.to(device))


def save_model(model: Model, path: Path) -> None:
    """Write a model, whole or not at all."""
    theta, background = model.theta, model.background
    tensors = {
        "W": theta.W,
        "Phi": theta.Phi,
        "A": theta.A,
        "pi": theta.pi,
        "background.edges": background.edges,
        "background.log_density": background.log_density,
        "background.bins": background.bins,
        "character": model.character,
        "pictures": model.pictures,
        "boxes": model.boxes,
        "typical": model.typical,
    }
    header = {
        "format": FORMAT,
        "version": VERSION,
        "D": list(model.D),
        "method": model.method,
        "bank": asdict(model.bank),
    }
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(contiguous, metadata={"unblot": json.dumps(header)})
    write_whole(path, lambda partial: partial.write_bytes(content))


def load_model(path: Path, device: torch.device | str = "cpu") -> Model:
    """Read a model; a truncated, foreign or newer file is refused with the reason."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata.get("unblot", "{}"))
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                raise InputError(f"{path} is no unblot model; make one with unblot learn")
            if header.get("version") != VERSION:
                raise InputError(
                    f"{path} has model version {header.get('version')}, this program reads {VERSION}; update it"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        theta = Theta(tensors["W"], tensors["Phi"], tensors["A"], tensors["pi"])
        histogram = (tensors[f"background.{name}"] for name in ("edges", "log_density", "bins"))
        rows, columns = header["D"]
        looks = (tensors[name] for name in ("character", "pictures", "boxes", "typical"))
        bank = FEATURES[header["method"]](**header["bank"])
        return Model(theta, Background(*histogram), (int(rows), int(columns)), bank, *looks).to(device)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except InputError:
        raise
    except (SafetensorError, KeyError, ValueError, TypeError, UnblotError) as error:
        raise InputError(f"{path} is damaged or no model file ({error}); make it again with unblot learn") from error
