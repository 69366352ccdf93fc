"""The whole page at once: characters that repeat are learned from all of it, and found wherever they stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unblot.cleaning.closeup import look_closely
from unblot.cleaning.doubts import likely_at_most, mixed
from unblot.cleaning.hidden import find_hidden
from unblot.cleaning.passes import Character
from unblot.cleaning.reread import DOUBT, reread
from unblot.cleaning.stamps import agreement, settle, settled
from unblot.cleaning.worn import MOST_EXAMPLES, measure, read_worn, worn_seeds
from unblot.detection.candidates import Candidates, find_candidates
from unblot.detection.certainty import probabilities
from unblot.detection.contest import View, contest, crowded, view, worn
from unblot.detection.owners import Ink, completeness, find_rivals, owners, standing_classes, sure_ones, without
from unblot.detection.standing import LEAST_EVIDENCE, least_evidence, mostly, pieces, specks
from unblot.detection.strokes import on_a_stroke, stroke_classes
from unblot.detection.together import together
from unblot.errors import NothingFoundError
from unblot.grid import FRAME, Grid, InkCells, make_grid, strengthened
from unblot.learning.joined import find_joined
from unblot.learning.merging import merge
from unblot.learning.parts import find_components
from unblot.learning.seeds import LEAST_SAME, LEVELS, TAKEN, Seed, best_components, find_seeds, seeds_of, strength_at
from unblot.learning.splitting import split
from unblot.learning.windows import (
    PRINTED,
    RING,
    Shape,
    evidence,
    fit,
    grown,
    laid,
    own_shape,
    page_background,
    shape_of,
    small_ones,
    stands_free,
    whole_part,
    within,
)
from unblot.model.file import Model
from unblot.model.theta import Theta
from unblot.progress import Progress, Watch
from unblot.scale import HEIGHT, PageInk, scale_factor, scaled

ROUNDS = 3  # the second where the first has split classes or left some of broken type, the third after such a second
LEAST_PROBABILITY = 0.1  # of a character: hardly any with less is one
AGREED = 0.78  # correlation of a class's instances with its picture: curves that are alike by chance have less
GAP = 100  # pixels between pages that are learned from together
FAINTEST = 0.01  # ink of a cell that is a character's own
NOTHING = "the input is left as it is, nothing was written"


@dataclass(frozen=True)
class Type:
    """How a page's type is: `joined` as Arabic is, or `broken` into pieces as worn letters are."""

    joined: bool
    broken: bool


def learn_whole(
    inks: list[PageInk],
    most: int | None,
    threshold: float,
    device: torch.device,
    watch: Watch,
) -> Model:
    """Learn the characters that repeat on pages; `most` classes, if that is given."""
    grid, height = _all_pages(inks, device)
    watch(Progress("features", 1, 1))
    components = find_components(grid.ink, LEVELS[0])
    words = find_joined(grid.ink, components)
    components = best_components(grid, components) if words is None else components
    strength, type_ = strength_at(components.level), Type(words is not None, components.level < LEVELS[0])
    plain, grid = grid, strengthened(grid, strength)
    background = page_background(grid)
    log_H = background.log_prob(grid.cells)
    seeds = _whole_parts(grid, log_H, find_seeds(grid, components), type_) if words is None else seeds_of(grid, words)
    if not seeds:
        raise NothingFoundError(f"nothing on the page repeats; {NOTHING}")
    watch(Progress("learning", 1, ROUNDS + 2, f"{len(seeds)} shapes that repeat"))
    taken = None
    for again in range(ROUNDS):
        found, shapes, worth = _instances(grid, log_H, seeds, threshold, type_, taken)
        watch(Progress("learning", 2 + again, ROUNDS + 2, f"{len(found.c)} characters"))
        taught, taught_shapes = _taught(*together(found, shapes, worth), most)
        seeds = taught if type_.joined else split(grid, taught, taught_shapes)
        if again == 0 and type_.broken:
            taken = _taken(grid, found, shapes)
            seeds += find_seeds(grid, components, taken)
        if len(seeds) == len(taught):
            break
    again_taught = None
    if seeds and not type_.joined and (type_.broken or worn(completeness(found, worth))):
        again_taught = worn_seeds(plain, seeds)
        seeds = seeds if again_taught is None else sorted(again_taught, key=lambda seed: -len(seed.corners))[:most]
    if not seeds:
        raise NothingFoundError(f"no characters that repeat were found; {NOTHING}")
    known = type_.joined or again_taught is not None
    theta, seeds, shapes = (_patterns if known else _merged)(grid, log_H, seeds, type_)
    own = torch.from_numpy(np.stack([shape.own for shape in shapes]))
    watch(Progress("learning", 1, 1, "done"))
    return Model(
        theta,
        background,
        FRAME,
        InkCells(height, strength, type_.joined),
        torch.arange(theta.C),
        torch.where(own, theta.W[..., 0].cpu().clamp_min(FAINTEST), 0),
        torch.tensor([shape.box for shape in shapes]),
        torch.from_numpy(_typical(grid, log_H, theta, seeds)),
    )


def find_whole(inked: PageInk, model: Model, threshold: float, watch: Watch) -> list[Character]:
    """Find a model's characters on a page, as cells show them and then close up; worn type is read once more."""
    assert isinstance(model.bank, InkCells)
    height = inked.height or model.bank.height
    device = model.theta.W.device
    grid = make_grid(inked.ink, height, device, model.bank.strength)
    detail, tall = scaled(inked.ink, grid.factor), height * grid.factor
    found, strokes, clear = _first_look(grid, detail, tall, model, threshold, watch)
    plain = make_grid(inked.ink, height, device) if model.bank.strength > 1 else grid
    measured = measure(strokes, plain)
    again = None if clear else read_worn(measured, plain, model, found)
    if again is not None:
        found = _alike(detail, tall, model, again)
    elif not model.bank.joined:
        found += find_hidden(measured, plain, model, found)
    watch(Progress("detection", 4, 4, "done"))
    return [replace(one, box=grid.on_page(one.box)) for one in found]


def _first_look(
    grid: Grid, detail: Float[np.ndarray, "H W"], tall: float, model: Model, threshold: float, watch: Watch
) -> tuple[list[Character], Bool[np.ndarray, "H W"], bool]:
    """Find characters by the evidence of their cells, and read them anew close up.

    Give the long strokes, too, and whether type is clear.
    """
    assert isinstance(model.bank, InkCells)
    log_H = model.background.log_prob(grid.cells)
    watch(Progress("detection", 1, 4))
    own, typical = _plain(model.pictures) > 0, _plain(model.typical)
    small = small_ones(own)
    readings = find_candidates(grid, log_H, model.theta)
    found = readings[(readings.evidence > least_evidence(readings, typical, small)) & (readings.quality > threshold)]
    if not model.bank.joined:
        found = found[~on_a_stroke(_plain(grid.cells[..., 0]), found, own)]
    watch(Progress("detection", 2, 4, f"{len(found.c)} places"))
    inks = [_ink(Shape(ink, tuple(box))) for ink, box in zip(own, model.boxes.tolist(), strict=True)]
    seen, broken = view(grid.cells, log_H, model.theta, own), model.bank.strength > 1
    if not model.bank.joined:
        found = found[~crowded(seen, found, typical, broken)]
    rivals = find_rivals(found, inks)
    chosen = _winners(seen, found, rivals, typical, broken)
    beside = specks(found, found[chosen], typical, small)
    if beside[chosen].any():
        found, rivals = found[~beside], without(rivals, beside)
        chosen = _winners(seen, found, rivals, typical, broken)
    character = _plain(model.character)
    probability, runners_up = probabilities(found[chosen], readings, inks, character, typical)
    likely = probability >= LEAST_PROBABILITY

    def read(k: int, p: float = DOUBT, other: int | None = None) -> Character:
        c = int(found.c[k])
        box = grid.box(tuple(found.corner[k].tolist()), tuple(model.boxes[c].tolist()))
        runner_up = None if other is None else int(character[readings.c[other]])
        return Character(int(character[c]), c, box, float(found.quality[k]), p, runner_up, 1)

    characters = [
        read(int(k), p, other)
        for k, p, other in zip(chosen[likely], probability[likely].tolist(), compress(runners_up, likely), strict=True)
    ]
    at_home, stamps = settle(detail, characters, model)
    close, alike = look_closely(detail, at_home, stamps, tall), agreement(detail, at_home, stamps)
    held, several = dict(zip(chosen[likely].tolist(), at_home, strict=True)), mixed(alike)
    unsure = several | (set(small.nonzero()[0].tolist()) if broken else set())  # a comma may have lost its tail
    again = reread(close, held, found, rivals, several, lambda k: settled(detail, read(k), stamps[int(found.c[k])]))
    limits = likely_at_most(close, [each.character for each in again], tall)
    watch(Progress("detection", 3, 4))
    result = []
    for each, limit in zip(again, limits, strict=True):
        one = each.character
        if limit > 0 and alike[one.c] > AGREED:
            p = min(each.probability, limit, DOUBT if one.c in unsure else 1.0)
            result.append(replace(one, posterior=p))
    share = completeness(found[chosen], typical)
    return result, close.strokes, model.bank.joined or not (broken or worn(share))


def _alike(detail: Float[np.ndarray, "H W"], tall: float, model: Model, found: list[Character]) -> list[Character]:
    """Give the characters, where they fit best, that are no pieces of others, and whose classes' instances agree."""
    at_home, stamps = settle(detail, found, model)
    alike = agreement(detail, at_home, stamps)
    limits = likely_at_most(look_closely(detail, at_home, stamps, tall), at_home, tall)
    unsure = mixed(alike)
    return [
        replace(one, posterior=min(one.posterior, limit, DOUBT if one.c in unsure else 1.0))
        for one, limit in zip(at_home, limits, strict=True)
        if limit == 1 or (limit > 0 and one.posterior >= DOUBT)
        if alike[one.c] > AGREED
    ]


def _all_pages(inks: list[PageInk], device: torch.device) -> tuple[Grid, float]:
    """Lay one grid over all pages, one below the other, each at the scale of its characters."""
    known = [(each.ink, each.height) for each in inks if each.height is not None]
    if not known:
        raise NothingFoundError(f"there is no ink on the page; {NOTHING}")
    if len(inks) == 1:
        return make_grid(*known[0], device), known[0][1]
    pages = [scaled(found, scale_factor(height)) for found, height in known]
    width = max(page.shape[1] for page in pages)
    joined = np.concatenate([np.pad(page, ((0, GAP), (0, width - page.shape[1]))) for page in pages])
    return make_grid(joined, HEIGHT, device), float(np.median([height for _, height in known]))


def _whole_parts(grid: Grid, log_H: Float[Tensor, "G1 G2"], seeds: list[Seed], type_: Type) -> list[Seed]:
    """Complete the parts that stand beside the rest of their characters."""
    if not seeds:
        return seeds
    theta = fit(grid, log_H, [s.corners for s in seeds])
    W, A = _plain(theta.W[..., 0]), _plain(theta.A)
    return [
        replace(seed, part=whole_part(W[k], A[k], seed.part, _cells(grid, seed), type_.broken))
        for k, seed in enumerate(seeds)
    ]


def _patterns(
    grid: Grid, log_H: Float[Tensor, "G1 G2"], seeds: list[Seed], type_: Type
) -> tuple[Theta, list[Seed], list[Shape]]:
    """Fit the patterns, and keep the classes that are whole characters; joined ones are as they were cut."""
    theta = fit(grid, log_H, [s.corners for s in seeds])
    W, A = _plain(theta.W[..., 0]), _plain(theta.A)
    shapes = [
        shape_of(seed.part > PRINTED) if type_.joined else own_shape(W[k], A[k], seed.part, type_.broken)
        for k, seed in enumerate(seeds)
    ]
    whole = [k for k, shape in enumerate(shapes) if shape is not None]
    if not whole:
        raise NothingFoundError(f"what repeats on the page are no characters; {NOTHING}")
    kept = [shape for shape in shapes if shape is not None]
    theta = theta.take(whole)
    return within(theta, kept), [seeds[k] for k in whole], kept


def _merged(
    grid: Grid, log_H: Float[Tensor, "G1 G2"], seeds: list[Seed], type_: Type
) -> tuple[Theta, list[Seed], list[Shape]]:
    """Fit the patterns, those that mean the same together."""
    theta, seeds, shapes = _patterns(grid, log_H, seeds, type_)
    seeds = merge(grid, log_H, theta, seeds, shapes, _typical(grid, log_H, theta, seeds))
    return _patterns(grid, log_H, seeds, type_)


def _typical(grid: Grid, log_H: Float[Tensor, "G1 G2"], theta: Theta, seeds: list[Seed]) -> Float[np.ndarray, " C"]:
    """Give the evidence that a class's examples have, their median."""
    of_class = np.repeat(np.arange(len(seeds)), [len(s.corners) for s in seeds])
    found = evidence(grid, log_H, theta, of_class, np.concatenate([s.corners for s in seeds]))
    return np.array([np.median(found[of_class == c]) for c in range(len(seeds))], np.float32)


def _instances(
    grid: Grid,
    log_H: Float[Tensor, "G1 G2"],
    seeds: list[Seed],
    threshold: float,
    type_: Type,
    taken: Bool[np.ndarray, "G1 G2"] | None,
) -> tuple[Candidates, list[Shape], Float[np.ndarray, " C"]]:
    """Find the characters that seeds start: instances, each class's own ink, and the evidence its examples have.

    Where type is broken, small marks look like pieces of all letters, and must stand alone. Where it is joined, no
    character does, and ink goes on behind all of them.
    """
    theta, seeds, shapes = _merged(grid, log_H, seeds, type_)
    worth = _typical(grid, log_H, theta, seeds)
    page, own = _plain(grid.cells[..., 0]), np.stack([shape.own for shape in shapes])
    seen = view(grid.cells, log_H, theta, own)
    found = _worthy(find_candidates(grid, log_H, theta), worth, threshold)
    if not type_.joined:
        found = found[~crowded(seen, found, worth, type_.broken)]
    inks = [_ink(shape) for shape in shapes]
    rivals = find_rivals(found, inks)
    free = _free(grid, seeds, shapes, type_)

    def winners(allowed: Bool[np.ndarray, " S"]) -> Int[np.ndarray, " s"]:
        return _winners(seen, found, rivals, worth, type_.broken, allowed)

    standing = standing_classes(found, inks, rivals, [s.corners for s in seeds], worth, free, type_.broken)[found.c]
    chosen = found[winners(standing)]
    if taken is not None:
        standing &= ~_intruders(taken, seeds, own, chosen)[found.c]
        chosen = found[winners(standing)]
    small = small_ones(own)
    surely = free & mostly(chosen[sure_ones(chosen, worth)], worth, small)
    allowed = standing & (mostly(chosen, worth, small)[found.c] | (surely[found.c] & sure_ones(found, worth)))
    allowed &= ~specks(found, chosen, worth, small) & ~pieces(found, chosen, worth)[found.c]
    if not type_.joined:
        allowed &= ~on_a_stroke(page, found, own) & ~stroke_classes(page, chosen, own)[found.c]
    return found[winners(allowed)], shapes, worth


def _free(grid: Grid, seeds: list[Seed], shapes: list[Shape], type_: Type) -> Bool[np.ndarray, " C"]:
    """Tell the classes that stand free, and are no pieces therefore; in broken type pieces stand free, too."""
    if type_.joined or type_.broken:
        return np.full(len(seeds), type_.joined)
    return np.array([stands_free(_cells(grid, s), shape.own, False) for s, shape in zip(seeds, shapes, strict=True)])


def _intruders(
    taken: Bool[np.ndarray, "G1 G2"], seeds: list[Seed], own: Bool[np.ndarray, "C P1 P2"], chosen: Candidates
) -> Bool[np.ndarray, " C"]:
    """Tell the classes whose examples were left over, but most of what they find was not."""

    def left_over(c: int, corners: Int[np.ndarray, "N 2"]) -> bool:
        shares = [taken[y : y + FRAME[0], x : x + FRAME[1]][own[c]].mean() for y, x in corners]
        return bool(shares) and float(np.median(shares)) < TAKEN

    return np.array(
        [left_over(c, seeds[c].corners) and not left_over(c, chosen.corner[chosen.c == c]) for c in range(len(own))]
    )


def _winners(
    seen: View,
    found: Candidates,
    rivals: list[Int[np.ndarray, " _"]],
    typical: Float[np.ndarray, " C"],
    broken: bool,
    allowed: Bool[np.ndarray, " S"] | None = None,
) -> Int[np.ndarray, " s"]:
    """Choose the candidates that own the page's ink, those first that explain it best together, then rival by rival."""
    return contest(seen, found, owners(found, typical, rivals, allowed), rivals, typical, allowed, broken)


def _taken(grid: Grid, found: Candidates, shapes: list[Shape]) -> Bool[np.ndarray, "G1 G2"]:
    """Give the cells where characters were found."""
    return laid(grid.shape, found.c, found.corner, np.stack([grown(shape.own, RING) for shape in shapes]))


def _worthy(found: Candidates, typical: Float[np.ndarray, " C"], threshold: float) -> Candidates:
    return found[(found.evidence > LEAST_EVIDENCE * typical[found.c]) & (found.quality > threshold)]


def _taught(
    found: Candidates, shapes: list[Shape], typical: Float[np.ndarray, " C"], most: int | None
) -> tuple[list[Seed], list[Shape]]:
    """Let the instances that are sure teach their classes anew, those that explain most of the page."""
    sure = found[sure_ones(found, typical)]
    explained = np.bincount(sure.c, sure.evidence, minlength=len(shapes))
    seeds, kept = [], []
    for c in np.sort(np.argsort(-explained, kind="stable")[:most]):
        shape = shapes[c]
        own = np.nonzero(sure.c == c)[0]
        own = own[np.argsort(-sure.quality[own], kind="stable")][:MOST_EXAMPLES]
        if len(own) >= LEAST_SAME:
            seeds.append(Seed(sure.corner[own], shape.own.astype(np.float32)))
            kept.append(shape)
    return seeds, kept


def _cells(grid: Grid, seed: Seed) -> Float[np.ndarray, "N P1 P2"]:
    """Cut a class's examples out of the page."""
    return _plain(grid.windows(grid.cells[..., 0], seed.corners))


def _ink(shape: Shape) -> Ink:
    x0, y0, x1, y1 = shape.box
    return Ink(shape.own[y0:y1, x0:x1], y0, x0)


def _plain(values: Tensor) -> np.ndarray:
    return np.asarray(values.cpu().numpy())
