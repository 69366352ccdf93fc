"""A result as JSON, for other programs (version 1)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from unblot.cleaning.marks import KEPT
from unblot.files import write_whole
from unblot.pipeline import PageResult, Result

VERSION = 1


def as_json(result: Result) -> dict[str, Any]:
    """Give the contract's dictionary: classes, pages with their characters, settings and seconds."""
    settings = result.settings
    return {
        "version": VERSION,
        "classes": _classes(result),
        "pages": [_page(index, page) for index, page in enumerate(result.pages)],
        "settings": {
            "method": settings.method,
            "mode": settings.mode,
            "classes": settings.schedule.classes or "auto",
            "threshold": settings.threshold,
            "seed": settings.seed,
            "paper": settings.paper,
            "protected": [list(box) for box in settings.protected],
            "iterations": settings.schedule.iterations,
        },
        "seconds": {stage: round(spent, 3) for stage, spent in result.seconds.items()},
    }


def write_result(result: Result, path: Path) -> None:
    """Write the JSON, whole or not at all."""
    text = json.dumps(as_json(result)) + "\n"
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def _classes(result: Result) -> list[dict[str, Any]]:
    counts = Counter(each.character for page in result.pages for each in page.characters)
    total = max(1, sum(counts.values()))
    model = result.model
    rows = []
    for number in range(model.characters):
        first = int((model.character == number).nonzero()[0, 0])
        rows.append(
            {
                "id": number,
                "instances": counts[number],
                "frequency": round(counts[number] / total, 4),
                "label": None,
                "size": list(model.size(first)),
            }
        )
    return rows


def _page(index: int, page: PageResult) -> dict[str, Any]:
    return {
        "source": page.source.source,
        "index": index,
        "width": page.source.width,
        "height": page.source.height,
        "characters": [
            {
                "class": each.character,
                "box": list(each.box),
                "quality": round(each.quality, 4),
                "posterior": round(each.posterior, 4),
                "runner_up": each.runner_up,
                "pass": each.found_in,
            }
            for each in page.characters
        ],
        "kept": [{"box": list(box), "why": KEPT} for box in page.kept],
        "removed": [{"box": list(box)} for box in page.removed],
    }
