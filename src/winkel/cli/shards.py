"""`winkel embed` for data larger than memory: files in, a folder out, by shards; on a Dask cluster if one is named."""

from __future__ import annotations

import itertools
import logging
import os
import shlex
import shutil
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..checks import new_file
from ..embedding import Embedding, load
from ..errors import missing_extra
from ..maps import require_pyarrow
from ..measures.faithfulness import Faithfulness
from ..run import Run
from ..scale import Source, fit, fit_landmarks, measure, open_source
from ..scale.components import kept_components, projected
from ..scale.engine import engine_of
from ..scale.folder import Folder
from ..scale.measuring import map_of
from ..scale.placing import placed_in, write_places
from ..typing import FloatArray
from .console import Console, Outcome
from .inputs import split_columns
from .methods import Recipe, UsageError, find_method, read_settings, shared_parameters

_MAP, _WORK = "map.parquet", "work"  # in the output folder: what is written, and what is kept until then
_NOT_HERE = (
    "html",
    "png",
    "watch",
    "label",
    "id",
    "keep",
    "numeric",
    "features",
)  # options that need all rows in memory


def is_folder(path: str) -> bool:
    """Whether the output is a folder, which requests a map by shards."""
    return path.endswith(("/", os.sep)) or Path(path).is_dir()


def in_shards(path: str) -> bool:
    """Whether the data can only be read in shards: several files, or a zarr store."""
    return "*" in path or path.rstrip("/").endswith(".zarr")


def command(options: Namespace, console: Console) -> Outcome:
    """Make the map in its folder."""
    recipe, target = _checked(options), Path(options.output)
    source = source_of(options)
    n, m = source.shape
    console.note(
        f"{n} rows × {m} columns in {source.n_shards} shards, {recipe.method.summary} ({recipe.method.name})"
    )
    if not options.resume:
        shutil.rmtree(target / _WORK, ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    shared = {**shared_parameters(options, console), "time_limit": options.time_limit}
    with _client(options.scheduler) as client:
        make = _by_landmarks if options.landmarks is not None else _of_all_rows
        result, Y = make(options, recipe, source, shared, client)
    return _written(options, console, recipe, source, result, Y, time.perf_counter() - start)


def source_of(options: Namespace) -> Source:
    """The rows of the command's input, in shards."""
    columns, drop = split_columns(options.columns), split_columns(options.drop)
    return open_source(options.input, columns=columns, drop=drop, key=options.key)


def _of_all_rows(
    options: Namespace, recipe: Recipe, source: Source, shared: dict[str, Any], client: Any, init: Any = None
) -> tuple[Embedding, FloatArray]:
    """The default map of all rows."""
    work = Path(options.output) / _WORK
    estimator = recipe.method.make(recipe.settings, shared)
    result = fit(estimator, source, folder=work, client=client, pca=options.pca, init=init).result_
    return result, result.Y


def _by_landmarks(
    options: Namespace, recipe: Recipe, source: Source, shared: dict[str, Any], client: Any
) -> tuple[Embedding, FloatArray]:
    """The map of landmarks by any method, with all rows placed on it; on request refined by their neighbours."""
    identity = {
        "rows": [*source.shape, source.names_identity],
        "landmarks": options.landmarks,
        "method": [recipe.method.name, dict(recipe.settings)],
        "seed": options.seed,
        "pca": options.pca,
    }
    folder = Folder.opened(Path(options.output).absolute() / _WORK / "landmarks", identity)
    run = Run.of(random_state=options.seed, n_jobs=options.n_jobs, verbose=shared["verbose"])
    engine = engine_of(client, run.n_jobs, folder.path)
    try:
        rows = source
        if options.pca is not None:
            rows = projected(source, kept_components(folder, source, options.pca, engine, run))
        file = folder.path / "model.winkel"
        if not file.exists():
            model = fit_landmarks(recipe.method.make(recipe.settings, shared), rows, options.landmarks)
            if (
                model.result_.status.word == "interrupted"
            ):  # all rows would have to be placed in what is there
                raise KeyboardInterrupt
            model.set_params(time_limit=None).save(file)
        model = load(file).set_params(n_jobs=options.n_jobs)
        places = placed_in(folder, rows, model, engine, run)
        if options.model is not None:
            shutil.copyfile(file, options.model)
    finally:
        engine.close()
    if not options.refine:
        return model.result_, places
    refining = recipe if recipe.method.name == "mde" else read_settings(find_method("mde"), [])
    return _of_all_rows(options, refining, source, shared, client, places)


def _checked(options: Namespace) -> Recipe:
    """The recipe, after a check that no option needs all rows in memory."""
    asked = [name for name in _NOT_HERE if getattr(options, name, None)]
    if asked or options.scale != "none" or options.encode is not None:
        name = asked[0] if asked else "scale" if options.scale != "none" else "encode"
        raise UsageError(
            f"--{name} needs all rows in memory, and a folder as output asks for a map by shards; name a file instead."
        )
    require_pyarrow("Writing a parquet file")
    recipe = read_settings(find_method(options.method), options.set)
    if options.landmarks is None:
        if recipe.method.name != "mde":
            raise UsageError(
                f"a map of all rows by shards is made by mde; got --method {recipe.method.name}. Add --landmarks 10000: it is then fitted "
                "to so many rows, and the others are placed among them."
            )
        for name in ("refine", "model"):
            if getattr(options, name):
                raise UsageError(f"--{name} with a folder as output is for maps by --landmarks.")
    elif not hasattr(recipe.method.target, "transform"):
        raise UsageError(
            f"--landmarks needs a method that places new rows, which {recipe.method.name} does not."
        )
    elif options.model is not None:
        if options.pca is not None:
            raise UsageError("--model with --pca would take components, not rows; leave one of them out.")
        new_file("the output", Path(options.model))
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
    # A loss is reported once, by this program; Dask would add the tracebacks of all its connections.
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL + 1)
    with client:
        yield client


def _written(
    options: Namespace,
    console: Console,
    recipe: Recipe,
    source: Source,
    result: Embedding,
    Y: FloatArray,
    seconds: float,
) -> Outcome:
    path = Path(options.output) / _MAP
    write_places(path, (Y[a:b] for a, b in itertools.pairwise(source.starts)), source.shape[0])
    word = result.status.word
    finished = word not in ("interrupted", "time_limit", "failed")
    if finished:
        shutil.rmtree(path.parent / _WORK, ignore_errors=True)
    recall = result.settings.get("recall") if len(result.Y) == len(Y) else None
    n_iter = int(result.history.iteration[-1])
    of = "" if recall is not None else f" of {options.landmarks} landmarks"
    found = "" if recall is None else f"; {recall:.1%} of true neighbours found, on sampled rows"
    console.note(f"{n_iter} iterations{of}, {seconds:.1f} s{found}")
    files = {"map": str(path)} | ({} if options.model is None else {"model": options.model})
    for what, file in files.items():
        console.note(f"{what}: {file}")
    if finished:
        rows = [options.input, *_named(options, "columns"), *_named(options, "drop"), *_named(options, "key")]
        console.note(f"how far it can be trusted: winkel measure {shlex.join([*rows, options.output])}")
    else:
        console.note(f"{result.status.sentence} The same command with --resume continues from here.")
    values = {
        "command": "embed",
        "version": __version__,
        "input": options.input,
        "method": recipe.method.name,
        "settings": dict(recipe.settings),
        "seed": options.seed,
        "n_rows": source.shape[0],
        "n_columns": source.shape[1],
        "n_components": int(np.shape(Y)[1]),
        "n_landmarks": options.landmarks,
        "objective": result.objective,
        "n_iter": n_iter,
        "recall": recall,
        "status": {"word": word, "sentence": result.status.sentence},
        "seconds": round(seconds, 3),
        "files": files,
    }
    return Outcome(values, code=130 if word == "interrupted" else 0)


def _named(options: Namespace, name: str) -> list[str]:
    """An option with its values, as they were written."""
    value = getattr(options, name)
    return [
        part for each in ([value] if isinstance(value, str) else value or []) for part in (f"--{name}", each)
    ]


def measured(options: Namespace, console: Console) -> tuple[Faithfulness, tuple[int, ...]]:
    """The scores of a map of data larger than memory, from a sample of rows, and the shape of the map."""
    asked = [name for name in (*_NOT_HERE, "output", "encode") if getattr(options, name, None)]
    if asked or options.scale != "none":
        raise UsageError(
            f"--{asked[0] if asked else 'scale'} needs all rows in memory; measure the map of one file."
        )
    Y = map_of(options.map).values
    report = measure(
        source_of(options),
        Y,
        scores=options.scores,
        n_neighbors=options.n_neighbors,
        metric=options.metric,
        random_state=options.seed,
        n_jobs=options.n_jobs,
        verbose=console.progress,
    )
    return report, Y.shape
