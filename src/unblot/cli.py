"""The command line. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from unblot import __version__
from unblot.errors import UnblotError, UsageError
from unblot.files import check_writable, read_text
from unblot.threads import keep_memory, limit_pools

if TYPE_CHECKING:
    from unblot.pipeline import Result, Settings
    from unblot.progress import Progress

app = typer.Typer(
    name="unblot",
    help="Clean scanned pages with what the page itself teaches.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

INTERRUPTED = 130
EXPERIMENTS = ("artificial", "bayes", "nine", "script", "scatter")

Inputs = Annotated[list[Path], typer.Argument(help="Pages: PNG, JPEG or TIFF.", metavar="INPUT...")]
Method = Annotated[str, typer.Option(help="page: the whole page at once; patch: the paper's own procedure.")]
Classes = Annotated[str, typer.Option(help="The number of classes, or auto.")]
Threshold = Annotated[float, typer.Option(help="Quality above which a match is a character, 0 to 1.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same result.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write what was found, as JSON.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where in the program an error came from.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"unblot {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def clean(
    inputs: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="The clean page: PNG or TIFF; a folder for several.")],
    mode: Annotated[str, typer.Option(help="restore: the page's own ink; repaint: the paper's way.")] = "restore",
    method: Method = "page",
    classes: Classes = "auto",
    paper: Annotated[str, typer.Option(help="keep: the page's own paper; white.")] = "keep",
    protect: Annotated[
        list[str] | None, typer.Option(help="x0,y0,x1,y1: nothing in this box changes; repeatable.")
    ] = None,
    json_file: Json = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page to check the result with.")] = None,
    model: Annotated[Path | None, typer.Option(help="Use this model instead of learning.")] = None,
    save_model: Annotated[Path | None, typer.Option(help="Keep what was learned.")] = None,
    device: Device = "auto",
    seed: Seed = 0,
    threshold: Threshold = 0.5,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn a page's characters from the page itself, and give the page back clean."""
    del debug
    targets = _targets(inputs, output)
    for path in (*targets, json_file, report, save_model):
        if path is not None:
            check_writable(path)
    from unblot import pipeline
    from unblot.device import choose_device
    from unblot.model import file as models
    from unblot.page import check_format, read_page, write_page

    for target in targets:
        check_format(target)
    settings = _settings(method, mode, classes, threshold, seed, paper, _boxes(protect or []))
    known = None if model is None else models.load_model(model)
    where = choose_device(device, method if known is None else known.method)
    pages = [read_page(path) for path in inputs]
    with _Progress(quiet) as watch:
        result = pipeline.clean(pages, settings, where, known, watch)
    for page, target in zip(result.pages, targets, strict=True):
        if page.clean is not None:
            write_page(page.clean, target)
    _write_what_was_asked(result, json_file, report, save_model)
    if not quiet:
        for page, target in zip(result.pages, targets, strict=True):
            typer.echo(f"{target}: {len(page.characters)} characters of {result.model.characters} types")


def _write_what_was_asked(result: Result, json_file: Path | None, report: Path | None, model: Path | None) -> None:
    from unblot.model.file import save_model
    from unblot.report import write_report
    from unblot.result import write_result

    if json_file is not None:
        write_result(result, json_file)
    if report is not None:
        write_report(result, report)
    if model is not None:
        save_model(result.model, model)


@app.command()
def learn(
    inputs: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")],
    method: Method = "page",
    classes: Classes = "auto",
    device: Device = "auto",
    seed: Seed = 0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn the characters of pages, and keep them as a model."""
    del debug
    check_writable(output)
    from unblot import pipeline
    from unblot.device import choose_device
    from unblot.model.file import save_model
    from unblot.page import read_page

    settings = _settings(method, "repaint", classes, 0.5, seed)
    where = choose_device(device, method)
    pages = [read_page(path) for path in inputs]
    with _Progress(quiet) as watch:
        model = pipeline.learn(pages, settings, where, watch)
    save_model(model, output)
    if not quiet:
        typer.echo(f"{output}: {model.characters} types")


@app.command()
def detect(
    page: Annotated[Path, typer.Argument(help="A page: PNG, JPEG or TIFF.", metavar="INPUT")],
    model: Annotated[Path, typer.Option(help="A model, from unblot learn.")],
    json_file: Annotated[Path, typer.Option("--json", help="Write what was found, as JSON.")],
    device: Device = "auto",
    threshold: Threshold = 0.5,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Find the characters of a model on a page."""
    del debug
    check_writable(json_file)
    from unblot import pipeline
    from unblot.device import choose_device
    from unblot.model.file import load_model
    from unblot.page import read_page
    from unblot.result import write_result

    known = load_model(model)
    known = known.to(choose_device(device, known.method))
    settings = _settings(known.method, "repaint", "auto", threshold, 0)
    with _Progress(quiet) as watch:
        result = pipeline.detect([read_page(page)], known, settings, watch)
    write_result(result, json_file)
    if not quiet:
        typer.echo(f"{json_file}: {len(result.pages[0].characters)} characters of {known.characters} types")


def _boxes(words: list[str]) -> tuple[tuple[int, int, int, int], ...]:
    boxes = []
    for word in words:
        try:
            x0, y0, x1, y1 = (int(part) for part in word.split(","))
        except ValueError:
            raise UsageError(f"--protect takes four whole numbers, x0,y0,x1,y1, not {word}") from None
        boxes.append((x0, y0, x1, y1))
    return tuple(boxes)


def _settings(
    method: str,
    mode: str,
    classes: str,
    threshold: float,
    seed: int,
    paper: str = "keep",
    protected: tuple[tuple[int, int, int, int], ...] = (),
) -> Settings:
    from unblot.learning.repeats import Schedule
    from unblot.pipeline import Settings

    if classes != "auto" and not classes.isdecimal():
        raise UsageError(f"--classes must be auto or a number, not {classes}")
    schedule = Schedule(classes=None if classes == "auto" else int(classes))
    return Settings(method, mode, threshold, seed, schedule, paper=paper, protected=protected)


def _targets(inputs: list[Path], output: Path) -> list[Path]:
    """Name the file that each input's clean page goes to; never an input itself."""
    if len(inputs) > 1 and not output.is_dir():
        raise UsageError(f"several pages need a folder to go to; make the folder {output} or give another with -o")
    targets = [output / f"{path.stem}.png" for path in inputs] if output.is_dir() else [output]
    if len(set(targets)) < len(targets):
        raise UsageError("two inputs have the same name and would overwrite each other; clean them one by one")
    for path in inputs:
        if any(target.exists() and path.exists() and target.samefile(path) for target in targets):
            raise UsageError(f"the clean page would overwrite the input {path}; choose another name with -o")
    return targets


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help=f"The experiment: {', '.join(EXPERIMENTS)}.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for figures and tables.")],
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    seeds: Annotated[int, typer.Option(help="How many seeds to run.")] = 10,
    device: Device = "auto",
    small: Annotated[bool, typer.Option("--small", help="A version of seconds instead of the paper's size.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="The paper's plain EM, without annealing.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Repeat one of the paper's experiments: figures and a table into a folder."""
    del debug  # read from the command line by `main`
    if name not in EXPERIMENTS:
        raise UsageError(f"there is no experiment {name}; choose one of: {', '.join(EXPERIMENTS)}")
    if seeds < 1 or seed < 0:
        raise UsageError("--seeds must be at least 1 and --seed at least 0")
    from unblot.device import choose_device
    from unblot.experiments import artificial, documents

    run = range(seed, seed + seeds)
    with _Progress(quiet) as watch:
        if name == "artificial":
            table = artificial.reproduce(
                artificial.choose_setting(small, plain), run, output, choose_device(device, "patch"), watch
            )
        else:
            table = documents.reproduce(name, small, plain, run, output, choose_device(device, "patch"), watch)
    if not quiet:
        typer.echo(table)
        typer.echo(f"figures and tables: {output}")


@app.command()
def score(
    truth: Annotated[Path, typer.Argument(help="The truth: TRUTH.json.")],
    result: Annotated[Path, typer.Argument(help="A result: RESULT.json.")],
    page: Annotated[int, typer.Option(help="Which page of the result, counted from 0.")] = 0,
    min_count: Annotated[int, typer.Option(help="Score only types with at least so many examples.")] = 1,
    clean_page: Annotated[Path | None, typer.Option("--clean", help="The page before the dirt.")] = None,
    image: Annotated[Path | None, typer.Option(help="The page that was cleaned, to compare pixels.")] = None,
    dirty: Annotated[Path | None, typer.Option(help="The dirty page; the result's own source, if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
    debug: Debug = False,
) -> None:
    """Say how well a result agrees with the truth: recall, false positives, substitutions, missed."""
    del debug
    if (clean_page is None) != (image is None):
        raise UsageError("--clean and --image go together: the page before the dirt, and the page that was cleaned")
    from dataclasses import asdict

    from unblot import score as scoring

    counted = scoring.score(scoring.read_truth(truth), scoring.read_result(result, page), min_count)
    measures = {}
    if clean_page is not None and image is not None:
        source = dirty if dirty is not None else scoring.read_source(result, page)
        measures = asdict(scoring.compare_pixels(clean_page, image, source))
    if as_json:
        import json

        typer.echo(json.dumps({"recall": counted.recall, **asdict(counted), **measures}))
        return
    typer.echo(f"recall           {counted.recall:.4f}  ({counted.correct} of {counted.characters})")
    typer.echo(f"false positives  {counted.false_positives}")
    typer.echo(f"substitutions    {counted.substitutions}")
    typer.echo(f"missed           {counted.missed}")
    typer.echo(f"types found      {counted.types_found} of {counted.types}")
    for name, value in measures.items():
        typer.echo(f"{name.replace('_', ' '):<17}{value:.4f}")


@app.command()
def synth(
    output: Annotated[Path, typer.Option("--output", "-o", help="STEM of STEM.png, .clean.png and .truth.json.")],
    font: Annotated[Path | None, typer.Option(help="A TrueType or OpenType file; a plain one comes along.")] = None,
    chars: Annotated[str, typer.Option(help="The characters that random words are made of.")] = "abesy",
    text: Annotated[Path | None, typer.Option(help="A text file to set instead of random words.")] = None,
    width: Annotated[int, typer.Option(help="Pixels across.")] = 3307,
    height: Annotated[int, typer.Option(help="Pixels down.")] = 4677,
    dpi: Annotated[float, typer.Option(help="The resolution the pictures name.")] = 400.0,
    size: Annotated[float, typer.Option(help="Font size in pixels.")] = 87.0,
    layout: Annotated[str, typer.Option(help="lines or scatter.")] = "lines",
    count: Annotated[int, typer.Option(help="How many characters to scatter.")] = 1000,
    turn: Annotated[list[str] | None, typer.Option(help="A type and its degrees, as b:90; repeatable.")] = None,
    wear: Annotated[float, typer.Option(help="0: crisp type, 1: every impression worn in its own way.")] = 0.0,
    dirt: Annotated[float, typer.Option(help="Amount of dirt; 0 for none.")] = 1.0,
    kinds: Annotated[str, typer.Option(help="Kinds of dirt.")] = "strokes,scribbles,blots,rings,spots",
    noise: Annotated[float, typer.Option(help="Grain of the scanner.")] = 0.012,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Render a dirty page with exact truth: STEM.png, STEM.clean.png, STEM.truth.json."""
    del debug
    from unblot.synth.make import Recipe, make, write

    recipe = Recipe(
        characters=chars,
        text=None if text is None else read_text(text),
        font=font,
        width=width,
        height=height,
        dpi=dpi,
        size=size,
        layout=layout,
        count=count,
        turns=_turns(turn or []),
        wear=wear,
        dirt=dirt,
        kinds=tuple(kind for kind in kinds.split(",") if kind),
        noise=noise,
        seed=seed,
    )
    for path in write(make(recipe), output):
        if not quiet:
            typer.echo(path)


def _turns(words: list[str]) -> dict[str, float]:
    turns = {}
    for word in words:
        label, _, degrees = word.rpartition(":")
        try:
            turns[label] = float(degrees)
        except ValueError:
            raise UsageError(f"--turn takes a character and degrees, as b:90, not {word}") from None
    return turns


class _Progress:
    """A bar for each stage on stderr when it is a terminal, nothing otherwise."""

    def __init__(self, quiet: bool) -> None:
        self.shown = sys.stderr.isatty() and not quiet

    def __enter__(self) -> _Progress:
        if self.shown:
            from rich.console import Console
            from rich.progress import Progress, TextColumn, TimeRemainingColumn

            columns = (*Progress.get_default_columns()[:3], TimeRemainingColumn(), TextColumn("{task.fields[note]}"))
            self.bar = Progress(*columns, console=Console(stderr=True))
            self.bar.start()
            self.tasks: dict[str, object] = {}
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self.bar.stop()

    def __call__(self, at: Progress) -> None:
        if self.shown:
            if at.stage not in self.tasks:
                self.tasks[at.stage] = self.bar.add_task(at.stage, total=at.total, note="")
            task = self.tasks[at.stage]
            self.bar.update(task, completed=at.done, total=at.total, note=at.note)  # type: ignore[arg-type]


def main() -> NoReturn:
    """Run the command line; every error is one line on stderr and an exit code."""
    debug = "--debug" in sys.argv
    keep_memory()
    limit_pools()
    try:
        code = app(standalone_mode=False)
    except UnblotError as error:
        if debug:
            raise
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        show = getattr(error, "format_message", None)  # an error of the command line's own grammar
        if show is not None:
            _fail(f"{show().rstrip('.')}; see unblot --help", 2)
        _fail(f"{type(error).__name__}: {error}; run again with --debug to see where", 1)
    if code == INTERRUPTED:
        _fail("interrupted", INTERRUPTED)
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 0)  # all is written; to take the process apart takes half a second


def _fail(message: str, code: int) -> NoReturn:
    print(f"unblot: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
