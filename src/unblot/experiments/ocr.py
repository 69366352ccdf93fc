"""What an OCR engine reads on the same page: the paper's FineReader column, with Tesseract."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from PIL import Image

from unblot.score import Mark


def read_with_tesseract(path: Path) -> list[Mark] | None:
    """Give the characters Tesseract reads, with their boxes; None where it is not installed or fails."""
    program = shutil.which("tesseract")
    if program is None:
        return None
    command = [program, str(path), "stdout", "--psm", "6", "-c", "tessedit_create_boxfile=1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    with Image.open(path) as image:
        height = image.height
    found = []
    for line in done.stdout.splitlines():
        words = line.rsplit(" ", 5)
        if len(words) == 6 and words[0].strip() and words[0] != "~":
            x0, y0, x1, y1 = (float(word) for word in words[1:5])
            found.append(Mark(words[0], (x0, height - y1, x1, height - y0)))  # boxes count from the page's foot
    return found
