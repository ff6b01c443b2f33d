"""From a neighbour graph to a map with variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...embedding import Embedding
from ...errors import InvalidInputError, InvalidParameterError
from ...graph import Graph, spectral_embedding
from ...random import Stream
from ...resources import check_memory, resolve_n_jobs
from ...solvers.em import EM
from ...solvers.loop import run
from .coarsening import coarsen, resolve_levels
from .landmarks import Nearest
from .model import Model
from .neighborhood import Neighborhood, Vector, neighborhood

START = 0.05  # spread of the first means, in typical arcs: all within reach of one another, none in one place


@dataclass(frozen=True)
class Settings:
    """What the user chose."""

    n_components: int
    n_steps: int
    levels: int | str
    tied_variance: bool
    momentum: float
    max_iter: int
    keep_frames: int


@dataclass(frozen=True, eq=False)
class Fit:
    """The map, its model and its neighbourhoods."""

    embedding: Embedding
    model: Model
    near: Neighborhood


def fit_latent(
    graph: Graph,
    nearest: Nearest,
    settings: Settings,
    *,
    init: str | ArrayLike,
    single: bool,
    seed: int,
    n_jobs: int | None,
    verbose: bool | int = False,
    callbacks: Sequence[object] = (),
    max_memory: int | None = None,
) -> Fit:
    """The latent variable model of the items of `graph`, fitted by EM.

    `nearest` finds landmarks. `single` does the sums over pairs in single precision.
    """
    _check(settings)
    levels = resolve_levels(settings.levels, graph.n)
    near = neighborhood(graph, settings.n_steps, n_jobs)
    _check_memory(graph, near, settings.n_components, max_memory)
    coarse = coarsen(near, levels, nearest, seed)
    model = Model(near, coarse, single=single, n_jobs=resolve_n_jobs(n_jobs))
    result = run(
        EM(settings.momentum, settings.tied_variance),
        model,
        _start(init, model, near, settings.n_components, seed, n_jobs),
        max_iter=settings.max_iter,
        callbacks=callbacks,
        verbose=verbose,
        keep_frames=settings.keep_frames,
    )
    state = result.state
    kind = np.float32 if single else np.float64
    embedding = Embedding(
        Y=(state.Y * near.unit).astype(kind),
        objective=state.objective,
        residual=state.residual,
        history=result.history,
        status=result.status,
        seed=seed,
        settings={
            "method": "lvm",
            "levels": levels,
            "n_similar": model.n_similar,
            "n_dissimilar": model.n_dissimilar,
        },
        blocks={"variance": state.variance * near.unit**2},
        graph=graph,
        frames=result.frames,
    )
    return Fit(embedding, model, near)


def _start(
    init: str | ArrayLike, model: Model, near: Neighborhood, m: int, seed: int, n_jobs: int | None
) -> Vector:
    """Means to begin with, in the model's unit."""
    n = model.n
    if not isinstance(init, str):
        Y = np.array(init, dtype=np.float64)
        if Y.shape != (n, m):
            raise InvalidInputError(f"init must have shape ({n}, {m}); got {Y.shape}.")
        return Y / near.unit
    if init == "random":
        return START * Stream.named(seed, "lvm start").normal((n, m))
    if init != "spectral":
        raise InvalidParameterError(f"init must be 'spectral', 'random' or an array; got {init!r}.")
    graph = Graph.from_edges(model.similar.pairs, model.similar.weights, n=n)
    Y = spectral_embedding(graph, m, normalized=False, random_state=seed, n_jobs=n_jobs)
    return START * np.sqrt(n) * Y


def _check(settings: Settings) -> None:
    m = settings.n_components
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
        raise InvalidParameterError(f"n_components must be a positive integer; got {m!r}.")
    if not isinstance(settings.tied_variance, bool | np.bool_):
        raise InvalidParameterError(f"tied_variance must be True or False; got {settings.tied_variance!r}.")


def _check_memory(graph: Graph, near: Neighborhood, m: int, limit: int | None) -> None:
    """Refuse what does not fit; pairs of blocks take no memory, so items and similar pairs decide."""
    similar = len(near.source) + 2 * graph.n
    forecast = graph.n * (16 * 8 * m + 400) + similar * 120
    check_memory(forecast, limit, f"The latent variable model of {graph.n} items", "Raise max_memory.")
