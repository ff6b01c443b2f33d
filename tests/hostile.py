"""Calls of everything in the core with arguments that no caller should give; run as a program, which may die.

    python -m tests.hostile PROGRESS NAME...

`CALLS` has one valid call for each function, constructor and method. Each of its arguments in turn, and then random
pairs of them, are replaced by what their kind makes hostile. A call may succeed or raise one of `ALLOWED`; the program
ends with another exception, or by a signal. The file PROGRESS holds the call under way.
"""

from __future__ import annotations

import os
import signal
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from winkel import _core

ALLOWED = (TypeError, ValueError, MemoryError, IndexError, OverflowError)
PAIRS = 60  # calls with two hostile arguments, for each valid one
SECONDS = 20  # that all calls of one name may take

N, M = 12, 3
rng = np.random.default_rng(0)
# As much work as is asked for is done: numbers that only ask for a lot are not tried.
WORK = {"draws", "degree", "max_iter", "max_rounds", "n", "count", "n_steps"}


def floats(*shape: int, dtype: type = np.float64) -> np.ndarray:
    return rng.normal(size=shape).astype(dtype)


def single(*shape: int) -> np.ndarray:
    return floats(*shape, dtype=np.float32)


def ring(dtype: type = np.int32) -> tuple[np.ndarray, np.ndarray]:
    """Compressed rows of a cycle of N nodes, columns ascending."""
    columns = np.sort([[(i - 1) % N, (i + 1) % N] for i in range(N)], axis=1)
    return np.arange(0, 2 * N + 1, 2).astype(dtype), columns.ravel().astype(np.int32)


def sparse(dtype: type = np.float32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (*ring(np.int64), np.ones(2 * N, dtype))


def family() -> tuple[np.ndarray, ...]:
    items = np.arange(N, dtype=np.int32)
    bounds = np.array([0, N // 2, N])
    nothing = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8)
    return (items, bounds, np.ones(N), np.ones(N), np.ones(N), *nothing)


def model(cls: type) -> Any:
    made = cls(np.arange(N, dtype=np.int32), *ring(np.int64), np.ones(2 * N), np.ones(2 * N))
    made.add_family(*family())
    made.balance(1.0, np.ones(N))
    return made


def plan(cls: type) -> Any:
    made = cls(N, 2)
    made.add("quadratic_loss", 1.0, 1.0, 1e-6, edges(), None, 1.0, None, 1)
    return made


def edges() -> np.ndarray:
    return np.array([[i, i + 1] for i in range(N - 1)], np.int32)


def lists() -> np.ndarray:
    return ((np.arange(N)[:, None] + [1, 2, 3]) % N).astype(np.int32)


def near() -> np.ndarray:
    return lists().astype(np.int64)


def products() -> tuple[Any, ...]:
    rows, _, atoms, *rest = codes()
    return np.einsum("ik,jk->ij", rows, atoms), np.einsum("ij,ij->i", rows, rows), *rest


def descent() -> Any:
    x = single(N, M)
    return _core.NeighborDescent(x, (x**2).sum(1), x, 0, 4, 4, 4, 0, 1)


def table() -> Any:
    return _core.RadialTable(-4, 1, 0.1, floats(6, 8))


def rules() -> Any:
    return _core.FieldRules(3, 4, 1.4, 1.0, np.inf, np.inf, 0.0)


def curve() -> Any:
    return _core.Curve("cauchy", "kernel", 1.0, 1.0, 1e-6)


def anchors() -> Any:
    return _core.AnchorGroup("quadratic_loss", 1.0, 1.0, 1e-6, lists()[:2], np.ones((2, 3)), None, None)


def potential() -> Any:
    return _core.HeldPotential(floats(16, 16), [-4.0, -4.0], 0.5, np.ones(1))


def codes() -> tuple[Any, ...]:
    atoms = floats(4, M)
    start = np.arange(N + 1), np.zeros(N, np.int32), np.ones(N)
    return floats(N, M), np.zeros(M), atoms, np.einsum("ik,jk->ij", atoms, atoms), 0.1, 0, 1e-6, 20, *start, 1


def new_points() -> tuple[Any, ...]:
    start = np.arange(0, 2 * N + 1, 2)[:4]
    items, bounds, reach, *_ = family()
    lists_of_new = start, np.arange(6, dtype=np.int32), np.ones(6), np.ones(6)
    block = np.array([0, 1, 0], np.int32), np.ones(3)
    exceptions = start, np.arange(6, dtype=np.int32), np.ones(6, np.uint8)
    return (
        items, bounds, reach, 1.0, floats(N, 2), np.ones(N), *lists_of_new, *block, *exceptions,
        floats(3, 2), np.ones(3), 20, 1e-4, 1,
    )  # fmt: skip


def laplacian() -> tuple[np.ndarray, ...]:
    return (*ring(), np.ones(2 * N), np.full(N, 2.0))


def distances() -> np.ndarray:
    return np.abs(single(N, N))


def own() -> np.ndarray:
    return np.arange(N)


def square_rows() -> tuple[np.ndarray, np.ndarray]:
    return single(N, M), np.ones(N, np.float32)


Call = Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]


def call(function: Callable[..., Any], *arguments: Callable[[], Any] | Any) -> Call:
    """A valid call whose arguments are made anew each time where they are given by a function."""
    return lambda: (function, tuple(a() if callable(a) else a for a in arguments))


def of(make: Callable[[], Any], method: str, *arguments: Any) -> Call:
    return lambda: (getattr(make(), method), tuple(a() if callable(a) else a for a in arguments))


def spread(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> Call:
    return lambda: (function, make())


def exact_search() -> Any:
    return _core.ExactSearch(*square_rows(), 0, 4)


def sparse_search() -> Any:
    return _core.SparseSearch(*sparse(), N, np.ones(N, np.float32), 4)


def similar_matrix() -> Any:
    return _core.SimilarMatrix(*sparse())


def distance_rows() -> Any:
    return _core.DistanceRows(*square_rows(), 0)


def both(name: str, make: Callable[[type], Call]) -> dict[str, Call]:
    """The calls of a function for either float type."""
    return {name: make(np.float64), f"{name} float32": make(np.float32)}


def array(*shape: int, dtype: type = np.float64) -> Callable[[], np.ndarray]:
    return lambda: floats(*shape, dtype=dtype)


def ordered(dtype: type) -> Callable[[], np.ndarray]:
    return lambda: np.sort(np.abs(floats(N, 4, dtype=dtype)), axis=1)


C = _core
CALLS: dict[str, Call] = {
    "RadialTable": call(C.RadialTable, -4, 1, 0.1, array(6, 8)),
    "RadialTable.__call__": of(table, "__call__", array(5)),
    "FieldRules": call(C.FieldRules, 3, 4, 1.4, 1.0, np.inf, np.inf, 0.0),
    "Curve": call(C.Curve, "cauchy", "kernel", 1.0, 1.0, 1e-6),
    "AnchorGroup": call(C.AnchorGroup, "quadratic_loss", 1.0, 1.0, 1e-6, lists, array(N, 3), None, table),
    "ExactSearch": spread(C.ExactSearch, lambda: (*square_rows(), 0, 4)),
    "ExactSearch.run": of(exact_search, "run", 0, 1, 1),
    "ExactSearch.result": of(exact_search, "result"),
    "NeighborDescent": spread(C.NeighborDescent, lambda: (*square_rows(), single(N, M), 0, 4, 4, 4, 0, 1)),
    "NeighborDescent.grow_tree": of(descent, "grow_tree", 1),
    "NeighborDescent.round": of(descent, "round", 1),
    "NeighborDescent.peek": of(descent, "peek", own),
    "Shard": spread(C.Shard, lambda: (*sparse(), 0, N)),
    "Shard.pull": of(lambda: C.Shard(*sparse(), 0, N), "pull", "log1p", 2.0, 0.0, 1e-5, single(N, 2), 1.0, 1),
    "search_cells": spread(
        C.search_cells, lambda: (*square_rows(), np.array([0, 5, N]), 2, np.array([[0, 1], [1, -1]], np.int32), 4, 1)
    ),
    "join_lists": spread(C.join_lists, lambda: (single(N, M), np.tile(own()[:4].astype(np.int32), (N, 1)), 0, N, 2, 3, 1)),
    "NeighborDescent.finish": of(descent, "finish"),
    "search_queries": spread(C.search_queries, lambda: (*square_rows(), *square_rows(), 0, 4, 1)),
    "SparseSearch": spread(C.SparseSearch, lambda: (*sparse(), N, np.ones(N, np.float32), 4)),
    "SparseSearch.run": of(sparse_search, "run", 0, N, 1),
    "SparseSearch.result": of(sparse_search, "result"),
    "project": call(C.project, array(N, M, dtype=np.float32), array(M, 64, dtype=np.float32), 1),
    "instruction_sets": call(C.instruction_sets),
    "instruction_set": call(C.instruction_set),
    "use_instruction_set": call(C.use_instruction_set, C.instruction_set()),
    "map_pieces": call(C.map_pieces, array(N, 2), 3, 2.0, 1),
    "remainder_apply": lambda: (
        C.remainder_apply, (*ring(), np.ones(2 * N, np.float32), 1, single(N, 16), single(N, 16))
    ),
    "place_latent": spread(C.place_latent, new_points),
    "check_knn": call(C.check_knn, lists, lambda: np.ones((N, 3)), 1),
    "symmetrize_knn": call(C.symmetrize_knn, lists, lambda: np.ones((N, 3)), 1),
    "sum_directions": call(C.sum_directions, lists, lambda: np.ones((N, 3)), 1),
    "rows_of_edges": call(C.rows_of_edges, edges, N),
    "component_roots": call(C.component_roots, edges, N),
    "spanning_forest": call(C.spanning_forest, edges, lambda: np.arange(N - 1), N),
    "neighbor_groups": spread(C.neighbor_groups, lambda: (*ring(), np.ones(2 * N), own().astype(np.int32))),
    "neighborhood_arcs": call(C.neighborhood_arcs, lists, edges, 2, 1),
    "path_matrix": spread(
        C.path_matrix, lambda: (*ring(), np.ones(2 * N), np.arange(3, dtype=np.int32), 5.0, 1, floats(3, N))
    ),
    "path_pairs": spread(
        C.path_pairs, lambda: (*ring(), np.ones(2 * N), np.arange(3, dtype=np.int32), 5.0, 0.5, 0, 1)
    ),
    "laplacian_apply": spread(C.laplacian_apply, lambda: (*laplacian(), 1, floats(N, 8), floats(N, 8))),
    "chebyshev_filter": spread(
        C.chebyshev_filter, lambda: (*laplacian(), 3, 0.1, 0.5, 4.0, 1, floats(N, 8), floats(N, 8))
    ),
    "DistanceRows": spread(C.DistanceRows, lambda: (*square_rows(), 0)),
    "DistanceRows.rows": of(
        distance_rows, "rows", array(4, M, dtype=np.float32), lambda: np.ones(4, np.float32),
        lambda: np.arange(4), array(4, N, dtype=np.float32), 1,
    ),
    "corank": call(C.corank, *[lambda: lists() % 4] * 2, array(4), 1),
    "distance_moments": call(C.distance_moments, distances, distances, True, False, 1),
    "random_bits": call(C.random_bits, 0, 0, 0, 5),
    "random_uniform": call(C.random_uniform, 0, 0, 0, 5),
    "random_normal": call(C.random_normal, 0, 0, 0, 5),
    "random_integers": call(C.random_integers, 0, 0, 0, 5, 10),
    "philox4x32": call(C.philox4x32, (0, 1, 2, 3), (4, 5)),
    "sample_pairs": call(C.sample_pairs, N, 10, 0, lambda: np.array([1, 2]), 1),
    "place_rows": call(C.place_rows, array(N, 2), array(2, 2), lambda: [anchors()], 20, 1e-6, 1, potential),
    "HeldPotential": call(C.HeldPotential, array(16, 16), [-4.0, -4.0], 0.5, array(1)),
    "NearPoints": call(C.NearPoints, array(N, 3), 1.0),
    "symmetric_eigen": call(C.symmetric_eigen, array(4, 4), 2, 1),
    "orthonormal_columns": call(C.orthonormal_columns, array(3, N)),
    "orthogonal_rows": call(C.orthogonal_rows, array(3, N)),
    "solve_positive": call(C.solve_positive, lambda: np.eye(4), array(4, 2)),
    "each_solution": call(C.each_solution, lambda: np.tile(np.eye(3), (N, 1, 1)), array(N, 3), 1),
    "exp": call(C.exp, array(5)),
    "log": call(C.log, array(5)),
    "arccos": call(C.arccos, array(5)),
    "cos_turns": call(C.cos_turns, array(5)),
    "code_products": spread(C.code_products, products),
    "project_simplex": call(C.project_simplex, array(5, 4), 1),
    "similar_pairs": call(C.similar_pairs, array(N, M, dtype=np.float32), 0.5, 0, 100, 1),
    "similarity_rows": spread(
        C.similarity_rows,
        lambda: (*edges().T.copy(), np.ones(N - 1, np.float32), np.ones(N), 0.5),
    ),
    "SimilarMatrix": spread(C.SimilarMatrix, sparse),
    "SimilarMatrix.residual_product": of(
        similar_matrix, "residual_product", *[array(N, 8, dtype=np.float32)] * 3, 1
    ),
    "SimilarMatrix.support_product": of(similar_matrix, "support_product", array(N, 8, dtype=np.float32), 1),
}  # fmt: skip

for kind, cls, dtype in (("32", C.PairPlan32, np.float32), ("64", C.PairPlan64, np.float64)):
    CALLS |= {
        f"PairPlan{kind}": call(cls, N, 2),
        f"PairPlan{kind}.add": of(
            lambda cls=cls: plan(cls), "add", "quadratic_loss", 1.0, 1.0, 1e-6, edges, array(N - 1), 1.0,
            array(N - 1), 1,
        ),
        f"PairPlan{kind}.evaluate": of(
            lambda cls=cls: plan(cls), "evaluate", array(N, 2, dtype=dtype), 1.0,
            array(N - 1, dtype=dtype), array(N, 2, dtype=dtype), 1,
        ),
    }  # fmt: skip

for kind, cls in (("32", C.LatentPairs32), ("64", C.LatentPairs64)):
    made = lambda cls=cls: model(cls)  # noqa: E731
    pairs = lambda cls=cls: (cls, (own().astype(np.int32), *ring(np.int64), np.ones(2 * N), np.ones(2 * N)))  # noqa: E731
    CALLS |= {
        f"LatentPairs{kind}": pairs,
        f"LatentPairs{kind}.add_family": lambda made=made: (made().add_family, family()),
        f"LatentPairs{kind}.balance": of(made, "balance", 1.0, array(N)),
        f"LatentPairs{kind}.gradient": of(made, "gradient", array(N, 2), lambda: np.ones(N), 1),
        f"LatentPairs{kind}.variance_slopes": of(made, "variance_slopes", array(N, 2), lambda: np.ones(N), 1),
        f"LatentPairs{kind}.step": of(made, "step", lambda: np.ones(N), array(N, 2), 1e-3, 20, 1),
    }

for name, make in {
    "column_sums": lambda t: call(C.column_sums, array(N, M, dtype=t), 1),
    "column_range": lambda t: call(C.column_range, array(N, M, dtype=t)),
    "gram": lambda t: call(C.gram, array(N, M, dtype=t), array(N, 2, dtype=t), 1),
    "multiply": lambda t: call(C.multiply, array(N, M, dtype=t), array(M), array(M, M), 1),
    "subtract_product": lambda t: call(
        C.subtract_product, array(N, M, dtype=t), array(M), array(N, M, dtype=t), array(M, M), 1
    ),
    "subtract_row": lambda t: call(C.subtract_row, array(N, M, dtype=t), array(M), 1),
    "dots": lambda t: call(C.dots, *[lambda: [floats(N, 2, dtype=t)]] * 2, 1),
    "combine": lambda t: call(C.combine, array(1), lambda: [floats(N, 2, dtype=t)], 1),
    "matrix_product": lambda t: call(
        C.matrix_product, array(N, M, dtype=t), array(M, 4, dtype=t), False, False, 1
    ),
    "local_weights": lambda t: call(C.local_weights, *[array(N, M, dtype=t)] * 2, near, 1e-3, 1),
    "sparse_local_weights": lambda t: call(
        C.sparse_local_weights, lambda: sparse(t), lambda: sparse(t), N, near, 1e-3, 1
    ),
    "each_product": lambda t: call(C.each_product, array(N, 2, M, dtype=t), array(N, 4, M, dtype=t), 1),
    "pair_distances": lambda t: call(C.pair_distances, edges, array(N, M, dtype=t), 1),
    "metric_distances": lambda t: call(C.metric_distances, array(N, M, dtype=t), edges, 0, 1),
    "refine_neighbors": lambda t: call(
        C.refine_neighbors, *[array(N, M, dtype=t)] * 2, own, lists, 1, 2, 1
    ),
    "direct_neighbors": lambda t: call(C.direct_neighbors, *[array(N, M, dtype=t)] * 2, own, 1, 2, 1),
    "nearest_columns": lambda t: call(C.nearest_columns, array(N, N, dtype=t), own, 2, 1),
    "refine_neighbors_sparse": lambda t: spread(
        C.refine_neighbors_sparse, lambda: (*sparse(t), N, lists(), 1, 2, 1)
    ),
    "direct_neighbors_sparse": lambda t: spread(
        C.direct_neighbors_sparse, lambda: (*sparse(t), N, own(), 1, 2, 1)
    ),
    "query_sparse": lambda t: call(C.query_sparse, lambda: sparse(t), lambda: sparse(t), N, 0, 2, 1),
    "radial_sums": lambda t: call(
        C.radial_sums, "cauchy", 1.0, 1e-3, array(N, 2, dtype=t), array(N, dtype=t), lambda: np.array([1, 5]),
        1, table,
    ),
    "field_sums": lambda t: call(
        C.field_sums, "cauchy", 1.0, 1e-3, array(N, 2, dtype=t), array(N, dtype=t), rules, 1, None
    ),
    "curve_values": lambda t: call(C.curve_values, curve, array(5, dtype=t)),
    "listed_forces": lambda t: spread(
        C.listed_forces,
        lambda: (curve(), floats(N, 2, dtype=t), *ring(np.int64), np.ones(2 * N, t), True, 1),
    ),
    "all_forces": lambda t: call(
        C.all_forces, curve, array(N, 2, dtype=t), array(N, dtype=t), lambda: np.array([1, 5]), 1
    ),
    "sampled_forces": lambda t: call(
        C.sampled_forces, curve, array(N, 2, dtype=t), array(N, dtype=t), 5, 0, 0, 1
    ),
    "calibrate_perplexity": lambda t: call(C.calibrate_perplexity, ordered(t), 2.0, 1),
    "calibrate_fuzzy": lambda t: call(C.calibrate_fuzzy, ordered(t), 2.0, 1e-3, 1),
    "code_simplex": lambda t: lambda: (C.code_simplex, (codes()[0].astype(t), *codes()[1:])),
    "weighted_row_sums": lambda t: spread(
        C.weighted_row_sums, lambda: (*sparse(float), floats(N, M, dtype=t), np.zeros(M), 1)
    ),
    "rank_rows": lambda t: call(
        C.rank_rows, array(N, N, dtype=t), own, lambda: np.zeros((N, N), np.int32), 1
    ),
    "exact_ranks": lambda t: call(
        C.exact_ranks, distances, *[array(N, M, dtype=t)] * 2, own, lists, 0, lambda: np.full(N, 1e-3), 1e-6,
        1,
    ),
    "exact_nearest": lambda t: call(
        C.exact_nearest, distances, *[array(N, M, dtype=t)] * 2, own, 0, 2, lambda: np.full(N, 1e-3), 1e-6, 1
    ),
    "grid_spread": lambda t: call(
        C.grid_spread, lambda: rng.random((N, 2)).astype(t), array(N, dtype=t), -4.0, -4.0, 1.0, 12, 12, 1
    ),
    "grid_read": lambda t: call(
        C.grid_read, lambda: rng.random((N, 2)).astype(t), array(12, 12, dtype=t), -4.0, -4.0, 1.0, 1
    ),
    "volume_spread": lambda t: call(
        C.volume_spread, lambda: rng.random((N, 3)).astype(t), array(N, dtype=t), (-4.0,) * 3, 1.0, (12,) * 3, 1
    ),
    "volume_read": lambda t: call(
        C.volume_read, lambda: rng.random((N, 3)).astype(t), array(12, 12, 12, dtype=t), (-4.0,) * 3, 1.0, 1
    ),
    "volume_halve": lambda t: call(C.volume_halve, array(9, 9, 9, dtype=t), 1, 1),
    "volume_double": lambda t: call(
        C.volume_double, array(9, 8, 9, dtype=t), array(9, 9, 9, dtype=t), 1, 1
    ),
    "grid_halve": lambda t: call(C.grid_halve, array(9, 9, dtype=t), 1),
    "grid_double": lambda t: call(C.grid_double, array(8, 8, dtype=t), array(9, 9, dtype=t), 1),
}.items():  # fmt: skip
    CALLS |= both(name, make)


def hostile(name: str, value: Any) -> Iterator[Any]:
    """What stands in for one argument."""
    yield from (None, "nonsense", object())
    if isinstance(value, np.ndarray):
        yield from hostile_arrays(value)
    elif isinstance(value, bool | int):
        yield from (-(2**63), -1, 0, 1, 2, 3, 7, 2**31, 2**63 - 1, 2**64, 1.5)
        if name not in WORK:
            yield from (10**6, 10**9, 2**31 - 1)
    elif isinstance(value, float):
        yield from (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-320, 1e-30, 1e30, 1e308)
    elif isinstance(value, str):
        yield from ("", "\0", "factors", "log", "ä" * 1000)
    elif isinstance(value, list | tuple):
        yield from (type(value)(), value * 2, type(value)([None]))
        for at, entry in enumerate(value):
            for other in hostile(name, entry):
                yield type(value)([*value[:at], other, *value[at + 1 :]])


def hostile_arrays(value: np.ndarray) -> Iterator[Any]:
    yield from (value[:0], value[:-1], np.concatenate([value, value]), value[None], np.zeros((), value.dtype))
    yield from (
        np.repeat(value, 2, axis=0)[::2],
        value[::-1].copy(),
        value.astype(np.int8),
        value.astype(complex),
    )
    if value.ndim >= 2:
        yield from (value[:, :0].copy(), value[:, :-1].copy(), np.asfortranarray(value), value[:0, :0].copy())
    if value.dtype.kind == "f":
        extremes = [np.nan, np.inf, -np.inf, -1.0, 0.0, float(np.finfo(value.dtype).max), 1e-40]
    else:
        extremes = [0, 1, 5, int(np.iinfo(value.dtype).max), int(np.iinfo(value.dtype).min)]
        if value.dtype.kind == "i":
            extremes.append(-1)
    for extreme in extremes:
        yield np.full_like(value, extreme)
        if value.size:
            changed = value.copy()
            changed.reshape(-1)[value.size // 2] = extreme
            yield changed


def trials(name: str) -> Iterator[tuple[Callable[..., Any], list[Any]]]:
    """The valid call, one hostile argument at a time, then two."""
    make = CALLS[name]
    function, arguments = make()
    yield function, list(arguments)
    names = parameter_names(function, len(arguments))
    choices = [list(hostile(n, a)) for n, a in zip(names, arguments, strict=True)]
    for at, choice in enumerate(choices):
        for value in choice:
            function, arguments = make()
            yield function, [*arguments[:at], value, *arguments[at + 1 :]]
    draws = np.random.default_rng(zlib.crc32(name.encode()))
    for _ in range(PAIRS if len(choices) > 1 else 0):
        function, arguments = make()
        changed = list(arguments)
        for at in draws.choice(len(choices), 2, replace=False):
            changed[at] = choices[at][draws.integers(len(choices[at]))]
        yield function, changed


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the arguments, from the signature that nanobind writes."""
    signature = getattr(function, "__nb_signature__", None) or function.__init__.__nb_signature__
    text = signature[0][0].split("(", 1)[1]
    found = [part.split(":")[0].strip() for part in text.replace("/", "").split(", ") if ": " in part]
    return ([n for n in found if n.isidentifier() and n != "self"] + [""] * count)[:count]


def attempt(name: str, progress: int) -> tuple[int, int]:
    """How many calls were made, and how many of them raised."""
    made = raised = 0
    for function, arguments in trials(name):
        text = f"{name}({', '.join(describe(a) for a in arguments)})"[:900]
        os.pwrite(progress, text.encode("utf-8", "replace").ljust(1000), 0)
        try:
            function(*arguments)
        except ALLOWED:
            raised += 1
            if not made:
                raise
        made += 1
    return made, raised


def describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}:{value.ravel()[:2].tolist()}"
    return repr(value)[:40]


def main() -> None:
    progress = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
    if "libasan" not in os.environ.get("LD_PRELOAD", "") and sys.platform == "linux":
        import resource  # asks for too much memory are refused, as on a small machine

        resource.setrlimit(resource.RLIMIT_AS, (6 * 10**9, 6 * 10**9))
    np.seterr(all="ignore")
    for name in sys.argv[2:]:
        signal.alarm(SECONDS)
        made, raised = attempt(name, progress)
        print(name, made, raised, sep="\t")


if __name__ == "__main__":
    main()
