"""Connected parts of the ink, each looked at alone; dots belong to their letters."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from unblot.connected import connected
from unblot.grid import BLUR, CELL, FRAME, stronger
from unblot.scale import HEIGHT

INKED = 0.3  # of a cell
TALLEST, WIDEST = 2.45, 1.65  # of a character's height: larger parts are hardly characters,
WIDER = 2.3  # unless they repeat; still larger ones do not fit into a frame
LEAST_AREA, LEAST_LENGTH = 0.012, 0.12  # of the height squared, of the height: smaller parts are grain
SEAM = 4  # pixels around a part whose faint ink still is its own
STACK = 0.3  # of a character's height: the widest gap between a letter and its dots
SMALLER = 0.6  # area of a dot, of its letter's, at most
ABOVE = 0.5  # share of its width that a dot has above or below its letter
TWIN = 0.5  # of a character's height: the largest strokes that stand in twos, as those of a quotation mark do
EVEN = 0.1  # of a character's height by which their ends may differ
LOW, LONG = 3.0, 1.3  # width of the bars of an equals sign, over their height; of a character's height


Place = tuple[Int[np.ndarray, " _"], tuple[int, int, int, int]]  # a part's components, and the box around it


@dataclass(frozen=True)
class Parts:
    """Parts of a page: boxes [y0, x0, y1, x1] in pixels, and cells with nothing else around."""

    box: Int[np.ndarray, "M 4"]
    alone: Float[np.ndarray, "M P1 P2"]

    def __len__(self) -> int:
        """Count the parts."""
        return len(self.box)

    def __getitem__(self, chosen: np.ndarray) -> Parts:
        """Take some of them."""
        return Parts(self.box[chosen], self.alone[chosen])

    @property
    def middle(self) -> Int[np.ndarray, "M 2"]:
        """Row and column of each part's middle."""
        return np.asarray((self.box[:, :2] + self.box[:, 2:]) // 2)

    @property
    def area(self) -> Float[np.ndarray, " M"]:
        """The area, in cells, of the box around each part's ink."""
        inked = self.alone > INKED
        return np.asarray((inked.any(1).sum(1) * inked.any(2).sum(1)).astype(float))


@dataclass(frozen=True)
class Components:
    """Connected components of the ink above a level: each pixel's, 0 for none, and OpenCV's statistics of each."""

    level: float
    label: Int[np.ndarray, "H W"]
    stats: Int[np.ndarray, "K 5"]


def find_components(ink: Float[np.ndarray, "H W"], level: float) -> Components:
    """Find the connected components where the ink is above a level."""
    return Components(level, *connected(ink > level))


def find_parts(ink: Float[np.ndarray, "H W"], components: Components, wide: bool = False) -> Parts:
    """Find the components that may be characters, or `wide` ones, and draw them."""
    return draw_parts(ink, components.label, find_places(components, wide))


def find_places(components: Components, wide: bool = False) -> list[Place]:
    """Find the components that may be characters, or `wide` ones.

    What is small and stands close above or below a larger part, as dots do, belongs to it. Small marks in twos are one.
    """
    stats = components.stats
    numbers = likely(stats, WIDER if wide else WIDEST)
    owner = _twins(stats[numbers], _owner(stats[numbers]))
    places = []
    for first in np.unique(owner):
        members = numbers[owner == first]
        corner, end = stats[members, :2].min(0), (stats[members, :2] + stats[members, 2:4]).max(0)
        if not wide or end[0] - corner[0] >= WIDEST * HEIGHT:
            places.append((members, (int(corner[1]), int(corner[0]), int(end[1]), int(end[0]))))
    return places


def draw_parts(
    ink: Float[np.ndarray, "H W"], labels: Int[np.ndarray, "H W"], places: list[Place], strength: float = 1.0
) -> Parts:
    """Draw the parts at some places, the ink made stronger by a factor."""
    alone = [_alone(ink, labels, members, box, strength) for members, box in places]
    boxes = np.array([box for _, box in places], int)
    return Parts(boxes.reshape(-1, 4), np.array(alone, np.float32).reshape(-1, *FRAME))


def likely(stats: Int[np.ndarray, "K 5"], widest: float = WIDEST) -> Int[np.ndarray, " M"]:
    """Give the components that have the size of a character, or of a part of one."""
    width, height, area = (stats[:, at] for at in (cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT, cv2.CC_STAT_AREA))
    fits = (height < TALLEST * HEIGHT) & (width < widest * HEIGHT)
    likely = fits & (area > LEAST_AREA * HEIGHT**2) & (np.maximum(height, width) > LEAST_LENGTH * HEIGHT)
    likely[0] = False
    return np.nonzero(likely)[0]


def _owner(stats: Int[np.ndarray, "M 5"]) -> Int[np.ndarray, " M"]:
    """Give the part that each part belongs to, mostly itself."""
    owner = np.arange(len(stats))
    if not len(stats):
        return owner
    left, top, width, height, area = stats.T
    middle = np.stack([left + width / 2, top + height / 2], 1)
    for one, near in enumerate(cKDTree(middle).query_ball_point(middle, TALLEST * HEIGHT)):
        best = STACK * HEIGHT
        for other in near:
            shared = min(left[one] + width[one], left[other] + width[other]) - max(left[one], left[other])
            gap = max(top[one], top[other]) - min(top[one] + height[one], top[other] + height[other])
            higher = max(top[one] + height[one], top[other] + height[other]) - min(top[one], top[other])
            smaller = area[one] < SMALLER * area[other] and higher < TALLEST * HEIGHT
            if smaller and shared >= ABOVE * width[one] and 0 <= gap < best:
                best, owner[one] = gap, other
    for _ in range(3):
        owner = owner[owner]
    return owner


def _twins(stats: Int[np.ndarray, "M 5"], owner: Int[np.ndarray, " M"]) -> Int[np.ndarray, " M"]:
    """Let marks that stand even and close, small ones side by side and bars one above the other, be one.

    Both belong to the left or the upper one, if they belong to no letter.
    """
    left, top, width, height, _ = stats.T
    small, bar = np.maximum(width, height) < TWIN * HEIGHT, (width > LOW * height) & (width < LONG * HEIGHT)
    twins = _paired(owner, small & _lone(owner), (left, width), (top, height))
    return _paired(twins, bar & _lone(twins), (top, height), (left, width))


def _lone(owner: Int[np.ndarray, " M"]) -> Bool[np.ndarray, " M"]:
    """Tell the parts that belong to none, and none to them."""
    return np.asarray(np.bincount(owner, minlength=len(owner))[owner] * (owner == np.arange(len(owner))) == 1)


def _paired(
    owner: Int[np.ndarray, " M"],
    chosen: Bool[np.ndarray, " M"],
    along: tuple[Int[np.ndarray, " M"], Int[np.ndarray, " M"]],
    across: tuple[Int[np.ndarray, " M"], Int[np.ndarray, " M"]],
) -> Int[np.ndarray, " M"]:
    """Let chosen marks belong to those close before them along an axis, if they are even across it."""
    (first, length), (low, extent) = along, across
    order = np.nonzero(chosen)[0]
    order = order[np.argsort(first[order], kind="stable")]
    twins = owner.copy()
    for n, one in enumerate(order):
        for other in order[n + 1 :]:
            gap = first[other] - first[one] - length[one]
            if gap >= STACK * HEIGHT:
                break
            ends = low[other] - low[one], low[other] + extent[other] - low[one] - extent[one]
            if twins[one] == one and gap >= 0 and max(map(abs, ends)) < EVEN * HEIGHT:
                twins[other] = one
                break
    return twins


def _alone(
    ink: np.ndarray, labels: np.ndarray, members: np.ndarray, place: tuple[int, int, int, int], strength: float
) -> np.ndarray:
    """Draw parts in the middle of an empty frame."""
    top, left, bottom, right = place
    shape = (FRAME[0] * CELL, FRAME[1] * CELL)
    y, x = (top + bottom) // 2 - shape[0] // 2, (left + right) // 2 - shape[1] // 2
    rows = slice(max(0, top - SEAM, y), min(ink.shape[0], bottom + SEAM, y + shape[0]))
    columns = slice(max(0, left - SEAM, x), min(ink.shape[1], right + SEAM, x + shape[1]))
    around = labels[rows, columns]
    own = (around == 0) | (np.isin(around, members) if len(members) > 1 else around == members[0])
    picture = np.zeros(shape, np.float32)
    inner = picture[rows.start - y : rows.stop - y, columns.start - x : columns.stop - x]
    inner[:] = np.where(own, stronger(ink[rows, columns], strength), 0)
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), BLUR)[::CELL, ::CELL])
