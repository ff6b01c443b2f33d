"""`winkel embed`: a table in, a map out."""

from __future__ import annotations

import signal
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..checks import new_file
from ..data import Table
from ..data.files import suffix_of
from ..maps import MAP_SUFFIXES, of_embedding, write_h5ad, write_map
from ..measures.faithfulness import Faithfulness, measure
from ..run import Run
from ..typing import FloatArray
from .console import Console, Outcome
from .inputs import STANDARD, check_output, table_of
from .methods import Fitted, Recipe, UsageError, find_method, read_settings, shared_parameters
from .shards import command as by_shards
from .shards import in_shards, is_folder

_UNFINISHED = ("interrupted", "time_limit")  # states of a fit from which --resume continues
_SUMMARY_ROWS = 500  # measured for the last line
_FEWEST_ROWS = 8  # of fewer there is nothing to say


def command(options: Namespace, console: Console) -> Outcome:
    """Make the map and write all requested files."""
    if is_folder(options.output):
        with _terminated_as_interrupted():
            return by_shards(options, console)
    for name in ("scheduler", "pca", "landmarks", "refine"):
        if getattr(options, name):
            raise UsageError(f"--{name} is for maps by shards: name a folder, such as out/, as output.")
    if in_shards(options.input):
        raise UsageError(f"{options.input!r} is read in shards: name a folder, such as out/, as output.")
    recipe = _recipe(options)
    _check(options, recipe, console)
    table = table_of(options, console)
    n, m = table.shape
    console.note(f"{n} rows × {m} columns, {recipe.method.summary} ({recipe.method.name})")
    start = time.perf_counter()
    with ExitStack() as stack:
        audience = stack.enter_context(_audience(options, console, table, recipe))
        fitted = _fit(options, console, recipe, table, audience)
        seconds = time.perf_counter() - start
        files = _write(options, recipe, fitted, table)
        return _outcome(options, console, recipe, table, fitted, files, seconds)


def _recipe(options: Namespace) -> Recipe:
    """The method with its settings; with Gower's distance if columns are encoded for it."""
    recipe = read_settings(find_method(options.method), options.set)
    if options.encode != "gower":
        return recipe
    if "metric" not in recipe.method.parameters:
        raise UsageError(
            f"{recipe.method.name} has no metric, which --encode gower needs; use --encode onehot."
        )
    if recipe.settings.get("metric", "manhattan") != "manhattan":
        raise UsageError(f"--encode gower is a metric of its own; leave --set metric={recipe.metric} out.")
    return replace(recipe, settings={**recipe.settings, "metric": "manhattan"})


def _check(options: Namespace, recipe: Recipe, console: Console) -> None:
    """Raise, before the work, if an output could not be written."""
    check_output(options.output, MAP_SUFFIXES)
    if options.features and options.html is None:
        raise UsageError("--features puts columns into the page, so it needs --html.")
    if options.output == STANDARD and console.json:
        raise UsageError("--json and -o - both write to standard output; use a file for -o.")
    if options.output == STANDARD and options.resume:
        raise UsageError("--resume needs an output file, because the checkpoint is next to it.")
    if options.html is not None or options.png is not None:
        _check_drawing(options, recipe.n_components)
    named = [options.output, options.html, options.png, options.model]
    outputs = [Path(path).resolve() for path in named if path is not None and path != STANDARD]
    if len({*outputs}) < len(outputs):
        raise UsageError("two outputs have the same name.")
    if options.input != STANDARD and Path(options.input).resolve() in outputs:
        raise UsageError(f"the output {options.input!r} would replace the input.")
    for path in outputs:
        new_file("the output", path)


def _check_drawing(options: Namespace, n_components: int | None) -> None:
    if options.png is not None:
        from ..view.plots import require_matplotlib

        require_matplotlib()
    for option, path, allowed in (("--png", options.png, (2,)), ("--html", options.html, (2, 3))):
        if path is not None and n_components is not None and n_components not in allowed:
            raise UsageError(
                f"{option} draws maps of {' or '.join(map(str, allowed))} dimensions, and n_components is {n_components}; "
                "add --set n_components=2."
            )


@contextmanager
def _audience(
    options: Namespace, console: Console, table: Table, recipe: Recipe
) -> Iterator[tuple[object, ...]]:
    """Callbacks for the fit: with --watch, one that updates the page in the browser."""
    if not options.watch:
        yield ()
        return
    from .view import watching

    title = f"{Path(options.input).name} · {recipe.method.name}"
    with watching(options, console, title, table.labels) as callback:
        yield (callback,)


def _fit(
    options: Namespace, console: Console, recipe: Recipe, table: Table, callbacks: tuple[object, ...]
) -> Fitted:
    """The map; checkpoints are next to the output until it is done."""
    shared = shared_parameters(options, console)
    shared |= {"callbacks": list(callbacks) or None, "time_limit": options.time_limit}
    if options.output != STANDARD:
        shared["checkpoint"] = f"{options.output}.part"
        if not options.resume:
            Run.of(checkpoint=shared["checkpoint"]).remove_checkpoints()
    with _terminated_as_interrupted():
        return recipe.fit(table, shared, options.checkpoint_every)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """A block in which SIGTERM has the same effect as Ctrl-C, because batch systems send SIGTERM before they kill a job."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _write(options: Namespace, recipe: Recipe, fitted: Fitted, table: Table) -> dict[str, str]:
    """Write the files; their names by what they are."""
    found = of_embedding(fitted.embedding).named_by(table)
    if options.output == STANDARD:
        sys.stdout.flush()
        write_map(sys.stdout.buffer, found)
        sys.stdout.buffer.flush()
    elif suffix_of(Path(options.output)) == ".h5ad":
        from_h5ad = options.input != STANDARD and suffix_of(Path(options.input)) == ".h5ad"
        name = recipe.method.name.replace("-", "_")
        write_h5ad(options.output, found, table, name, options.input if from_h5ad else None)
    else:
        write_map(options.output, found)
    files = {"map": options.output}
    if options.model is not None:
        fitted.save(options.model)
        files["model"] = options.model
    if options.png is not None:
        from ..view.plots import plot

        plot(found.Y, labels=found.labels, path=options.png)
        files["picture"] = options.png
    if options.html is not None:
        from .pages import write_page

        title = "standard input" if options.input == STANDARD else Path(options.input).stem
        write_page(
            options.html, {recipe.method.name: found}, table, metric=recipe.metric, n_jobs=options.n_jobs,
            title=f"{title} · {recipe.method.name}", features=options.features, label=options.label,
        )  # fmt: skip
        files["page"] = options.html
    return files


def _outcome(
    options: Namespace,
    console: Console,
    recipe: Recipe,
    table: Table,
    fitted: Fitted,
    files: dict[str, str],
    seconds: float,
) -> Outcome:
    embedding = fitted.embedding
    n_iter = int(embedding.history.iteration[-1])
    unfinished = embedding.status.word in _UNFINISHED or embedding.status.word == "failed"
    how = f"{embedding.status.sentence} " if unfinished else ""
    console.note(f"{how}{n_iter} iterations, {seconds:.1f} s")
    for what, path in files.items():
        console.note(f"{what}: {'standard output' if path == STANDARD else path}")
    if embedding.status.word in _UNFINISHED and options.output != STANDARD:
        console.note(
            "The files hold the best map so far; the same command with --resume continues from here."
        )
    found = _found(options, recipe, table, embedding.Y) if console.speaks else None
    if found is not None:
        console.note(f"found: {found.summary}")
    values = {
        "command": "embed",
        "version": __version__,
        "input": options.input,
        "method": recipe.method.name,
        "settings": dict(recipe.settings),
        "seed": options.seed,
        "n_rows": table.shape[0],
        "n_columns": table.shape[1],
        "n_components": int(embedding.Y.shape[1]),
        "objective": embedding.objective,
        "residual": embedding.residual,
        "n_iter": n_iter,
        "status": {"word": embedding.status.word, "sentence": embedding.status.sentence},
        "faithfulness": None
        if found is None
        else {name: score.value for name, score in found.scores.items()},
        "seconds": round(seconds, 3),
        "files": files,
    }
    return Outcome(values, code=130 if embedding.status.word == "interrupted" else 0)


def _found(options: Namespace, recipe: Recipe, table: Table, Y: FloatArray) -> Faithfulness | None:
    """How faithful the map is, on a sample of rows."""
    n = table.shape[0]
    if n < _FEWEST_ROWS:
        return None
    return measure(
        table,
        Y,
        scores=["trustworthiness", "continuity", "rnx_auc"],
        n_neighbors=min(15, (n - 1) // 3),
        metric=recipe.metric,
        sample=min(n, _SUMMARY_ROWS),
        random_state=0,
        n_jobs=options.n_jobs,
    )
