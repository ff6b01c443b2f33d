"""`winkel embed` of data beyond memory: files in, a folder out, by shards; on a Dask cluster where one is named."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..errors import missing_extra
from ..maps import require_pyarrow
from ..scale import Source, fit, open_source
from .console import Console, Outcome
from .inputs import split_columns
from .methods import Recipe, UsageError, find_method, read_settings, shared_parameters

_MAP, _WORK = "map.parquet", "work"  # in the output folder: what is written, and what is kept until then
_NOT_HERE = (
    "html",
    "png",
    "model",
    "watch",
    "label",
    "id",
    "drop",
    "keep",
)  # options that need all rows in memory


def goes_by_shards(options: Namespace) -> bool:
    """Whether the output is a folder, which is how a map beyond memory is asked for."""
    output = options.output
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def command(options: Namespace, console: Console) -> Outcome:
    """Make the map in its folder."""
    recipe, target = _checked(options), Path(options.output)
    source = open_source(options.input, columns=split_columns(options.columns))
    n, m = source.shape
    console.note(
        f"{n} rows × {m} columns in {source.n_shards} shards, {recipe.method.summary} ({recipe.method.name})"
    )
    work = target / _WORK
    if not options.resume:
        shutil.rmtree(work, ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    shared = {**shared_parameters(options, console), "time_limit": options.time_limit}
    with _client(options.scheduler) as client:
        estimator = recipe.method.make(recipe.settings, shared)
        model = fit(estimator, source, folder=work, client=client, pca=options.pca)
    return _written(options, console, recipe, source, model, target, time.perf_counter() - start)


def _checked(options: Namespace) -> Recipe:
    """The recipe, once nothing was asked for that needs all rows in memory."""
    asked = [name for name in _NOT_HERE if getattr(options, name, None)]
    if asked or options.scale != "none" or options.encode is not None:
        name = asked[0] if asked else "scale" if options.scale != "none" else "encode"
        raise UsageError(
            f"--{name} needs all rows in memory, and a folder as output asks for a map by shards; name a file instead."
        )
    require_pyarrow("Writing a parquet file")
    recipe = read_settings(find_method(options.method), options.set)
    if recipe.method.name != "mde":
        raise UsageError(f"a map by shards is made by mde; got --method {recipe.method.name}.")
    return recipe


@contextmanager
def _client(scheduler: str | None) -> Iterator[Any]:
    """A client of the scheduler, or None for this process."""
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise missing_extra("distributed", "dask", "--scheduler") from None
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {scheduler!r} ({error}).") from error
    # What is lost is told once, by this program; Dask would add the traces of all its connections.
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL + 1)
    with client:
        yield client


def _written(
    options: Namespace,
    console: Console,
    recipe: Recipe,
    source: Source,
    model: Any,
    target: Path,
    seconds: float,
) -> Outcome:
    from ..scale.placing import write_places

    result, path = model.result_, target / _MAP
    starts = source.starts
    write_places(path, (result.Y[a:b] for a, b in itertools.pairwise(starts)), source.shape[0])
    word = result.status.word
    finished = word not in ("interrupted", "time_limit", "failed")
    if finished:
        shutil.rmtree(target / _WORK, ignore_errors=True)
    recall = result.settings["recall"]
    n_iter = int(result.history.iteration[-1])
    console.note(
        f"{n_iter} iterations, {seconds:.1f} s; {recall:.1%} of true neighbours found, on sampled rows"
    )
    console.note(f"map: {path}")
    if not finished:
        console.note(f"{result.status.sentence} The same command with --resume goes on from here.")
    values = {
        "command": "embed",
        "version": __version__,
        "input": options.input,
        "method": recipe.method.name,
        "settings": dict(recipe.settings),
        "seed": options.seed,
        "n_rows": source.shape[0],
        "n_columns": source.shape[1],
        "n_components": int(np.shape(result.Y)[1]),
        "objective": result.objective,
        "n_iter": n_iter,
        "recall": recall,
        "status": {"word": word, "sentence": result.status.sentence},
        "seconds": round(seconds, 3),
        "files": {"map": str(path)},
    }
    return Outcome(values, code=130 if word == "interrupted" else 0)
