"""unblot: learn a page's own characters from that page alone, and give the page back clean."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from unblot.api import Cleaner, clean, learn
    from unblot.learning.repeats import Schedule
    from unblot.page import Page, read_page, write_page
    from unblot.pipeline import Settings

__all__ = ["Cleaner", "Page", "Schedule", "Settings", "clean", "learn", "read_page", "write_page"]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: the command line starts without the arithmetic."""
    if name not in __all__:
        raise AttributeError(f"module 'unblot' has no attribute {name!r}")
    from importlib import import_module

    of_page = dict.fromkeys(("Page", "read_page", "write_page"), "page")
    homes = {**of_page, "Settings": "pipeline", "Schedule": "learning.repeats"}
    return getattr(import_module(f"unblot.{homes.get(name, 'api')}"), name)
