"""Files read with a reason when they cannot be, and written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from unblot.errors import InputError, OutputError


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, then rename it, so that `path` is never half of a file."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        write(partial)
        os.replace(partial, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {path}: {reason}; choose a folder that exists and can be written") from error
    finally:
        partial.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before the work that would be lost."""
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"cannot write {path}: the folder {path.parent} cannot be written; choose another")


def read_text(path: Path) -> str:
    """Read a text file, or say why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 text; save it as UTF-8") from error


def make_folder(path: Path) -> Path:
    """Make the folder `path` if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {path}: {error.strerror}; choose another place") from error
    return path
