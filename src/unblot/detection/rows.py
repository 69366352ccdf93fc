"""The lines of a page, each with its own characters: where it begins and ends, and how it bends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.ndimage import median_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from unblot.detection.lines import find_lines

LEVEL = 4.0  # cells up or down that neighbours on a line may stand
LEAST = 3  # characters of a line
SMOOTH = 9  # characters whose median height is that of the line
BEYOND = 96  # cells before the first and behind the last character that are looked at
GAP = 2 * BEYOND  # cells: what is closer is one line, or characters between would be read twice


@dataclass(frozen=True)
class Row:
    """A line: its height at some columns, and the first and the last column that are looked at."""

    columns: Float[np.ndarray, " N"]
    heights: Float[np.ndarray, " N"]
    slope: float
    first: int
    last: int

    def base(self, column: np.ndarray) -> np.ndarray:
        """Give the row of cells that the line has at some columns."""
        return np.asarray(np.interp(column, self.columns, self.heights) + self.slope * column)


@dataclass(frozen=True)
class Rows:
    """The lines of a page, and how far above its line each class's frame begins."""

    above: Float[np.ndarray, " C"]
    rows: list[Row]

    def off(self, row: Row, c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"]) -> Float[np.ndarray, " S"]:
        """Give how far frames stand above or below a line, infinitely far where they are beyond its ends."""
        far = np.abs(corner[:, 0] + self.above[c] - row.base(corner[:, 1]))
        return np.where((corner[:, 1] >= row.first) & (corner[:, 1] <= row.last), far, np.inf)


def find_rows(c: Int[np.ndarray, " S"], corner: Int[np.ndarray, "S 2"], classes: int) -> Rows | None:
    """Find the lines that characters stand on; None where they stand on none."""
    lines = find_lines(c, corner, classes)
    if lines is None:
        return None
    height = corner[:, 0] + lines.above[c] - lines.slope * corner[:, 1]
    places = np.stack([height * GAP / LEVEL, corner[:, 1]], 1)
    one, other = cKDTree(places).query_pairs(GAP, p=np.inf, output_type="ndarray").T
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(len(c), len(c)))
    count, of_line = connected_components(graph, directed=False)
    rows = []
    for k in range(count):
        own = np.nonzero(of_line == k)[0]
        if len(own) >= LEAST:
            own = own[np.argsort(corner[own, 1], kind="stable")]
            columns = corner[own, 1].astype(float)
            heights = median_filter(height[own], SMOOTH, mode="nearest")
            rows.append(Row(columns, heights, lines.slope, int(columns[0] - BEYOND), int(columns[-1] + BEYOND)))
    return Rows(lines.above, rows) if rows else None
