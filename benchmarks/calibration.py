"""How often characters are right, for the probability they were given.

    python benchmarks/calibration.py PLOT.png TRUTH.json RESULT.json [TRUTH.json RESULT.json ...]

Prints the expected calibration error over ten bins, and how many wrong characters are called sure.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from unblot.score import pair, read_result, read_truth, right_pairs

BINS, SURE = 10, 0.9


def judged(truth: Path, result: Path) -> tuple[list[float], list[bool]]:
    """Give the probability of each character of a result, and whether it is right."""
    true, found = read_truth(truth), read_result(result)
    right = {k for _, k in right_pairs(true, found, pair(true, found))}
    characters = json.loads(result.read_text())["pages"][0]["characters"]
    return [each["posterior"] for each in characters], [k in right for k in range(len(characters))]


def main() -> None:
    """Judge all pages together."""
    plot, *files = sys.argv[1:]
    pages = [judged(Path(truth), Path(result)) for truth, result in zip(files[::2], files[1::2], strict=True)]
    p = np.concatenate([page[0] for page in pages])
    right = np.concatenate([page[1] for page in pages])
    of_bin = np.minimum((p * BINS).astype(int), BINS - 1)
    mean, share, count = [], [], []
    for k in np.unique(of_bin):
        mean.append(p[of_bin == k].mean())
        share.append(right[of_bin == k].mean())
        count.append((of_bin == k).sum())
    error = np.average(np.abs(np.array(mean) - share), weights=count)
    sure = int(((p >= SURE) & ~right).sum())
    print(f"{len(p)} characters, {int((~right).sum())} wrong, {sure} of them with {SURE} or more")
    print(f"expected calibration error {error:.4f}")
    _, axes = plt.subplots(figsize=(4, 4), layout="constrained")
    axes.plot([0, 1], [0, 1], color="0.7")
    axes.scatter(mean, share, s=8 + 60 * np.sqrt(np.array(count) / max(count)), color="#1f4e79")
    axes.set(xlabel="probability reported", ylabel="share that is right", xlim=(0, 1.02), ylim=(0, 1.02))
    plt.savefig(plot, dpi=150)


if __name__ == "__main__":
    main()
