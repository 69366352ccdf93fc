"""How work says where it stands, to whoever watches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Where the work stands: a stage, how much of it is done, and what there is to say about it."""

    stage: str
    done: int
    total: int
    note: str = ""


Watch = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Watch without a word."""


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Book the time since the last lap to a stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now
