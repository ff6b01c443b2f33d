"""`Objective`, the base of all objectives, and `PairObjective`, the base of objectives whose loss is a sum over pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ....checks import choice, integer, number, optional, positive, refuse
from ....errors import InvalidInputError
from ....graph import Graph
from ....problem.distortions.base import class_named, register, registered, snake_case
from ....problem.grid import MOST_NODES
from ....run import Run
from ....typing import FloatArray
from ..data_kernels import DATA_KERNELS, DataKernel, NewRows, Source
from ..force_problem import PAIRS, ForceProblem, Pairs, choose_pairs
from ..map_kernels import MAP_KERNELS, MapKernel, map_kernel
from ..schedule import Schedule

Matrix = NDArray[np.float64]
Rule = Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[Matrix, Matrix, Matrix]]
_Self = TypeVar("_Self", bound="Objective")

_MOST_FREEDOM = 100.0  # degrees, beyond which Student's kernel is as a Gaussian one
MOST_ROWS = 3000  # of which all pairs are shown as matrices


@dataclass(frozen=True)
class Sums:
    """How a problem computes its sums: over which pairs, in how many dimensions and in which precision."""

    pairs: str
    n_components: int
    dtype: Any


@dataclass(frozen=True, eq=False)
class Forces:
    """The forces of an objective on a map: ∇_i = −c Σ_j (A_ij − R_ij) k_y'(s_ij) (y_i − y_j), s the squared distance.

    Attributes
    ----------
    objective : Objective
        The objective.
    value : float
        Its value at the map.
    gradient : ndarray of shape (n_samples, n_components)
        Its gradient; steps go against it.
    attractive, repulsive : ndarray of shape (n_samples, n_components)
        The two parts of the gradient.
    scale : float
        The factor c.
    """

    objective: Objective
    value: float
    gradient: FloatArray
    attractive: FloatArray
    repulsive: FloatArray
    scale: float
    _n: int
    _rule: Rule

    def scalars(self, i: ArrayLike, j: ArrayLike) -> tuple[Matrix, Matrix, Matrix]:
        """A, R and k_y' of the pairs (i, j)."""
        return self._rule(np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64))

    @property
    def attraction(self) -> Matrix:
        """A for all pairs, n × n with zeros on the diagonal; up to 3 000 rows."""
        return self._matrix(0)

    @property
    def repulsion(self) -> Matrix:
        """R for all pairs, n × n with zeros on the diagonal; up to 3 000 rows."""
        return self._matrix(1)

    @property
    def slope(self) -> Matrix:
        """k_y' for all pairs, n × n with zeros on the diagonal; up to 3 000 rows."""
        return self._matrix(2)

    def _matrix(self, which: int) -> Matrix:
        n = self._n
        if n > MOST_ROWS:
            raise InvalidInputError(
                f"the matrix of all pairs of {n} rows is too large; use scalars(i, j) for a selection of pairs."
            )
        i, j = np.divmod(np.arange(n * n), n)
        found = self.scalars(i, j)[which].reshape(n, n)
        np.fill_diagonal(found, 0)
        return found


class Objective(ABC):
    """A loss over pairs of rows, with everything specific to it (Draganov and Dohn 2023, eq 3).

    A subclass is a frozen dataclass whose fields are its parameters. As soon as it is defined, `winkel.AttractRepel(objective=...)` knows it by
    its `name`, the name of the class in snake case. A parameter that the chosen kernels do not use is refused unless it has its default.
    """

    name: ClassVar[str]
    schedule: ClassVar[Schedule]
    steps: ClassVar[Schedule | None] = None  # by gradient steps, where the schedule is by L-BFGS
    allowed_kernels: ClassVar[tuple[str, ...]] = tuple(DATA_KERNELS)
    kept_constants: ClassVar[tuple[str, ...]] = ()  # names of what `constants` gives
    joins_lists: ClassVar[bool] = False  # whether rows that stand in one list become pairs
    grid_nodes: ClassVar[float] = 0.0  # for each row, of the largest grid on which all pairs are summed
    any_scale: ClassVar[bool] = False  # whether inner products times a number ask for the same shape

    kernel_x: str

    def __init_subclass__(cls, *, named: bool = True) -> None:
        super().__init_subclass__()
        if named:
            cls.name = snake_case(cls.__name__)
            register("objectives", cls)

    def __post_init__(self) -> None:
        choice("kernel_x", self.kernel_x, self.allowed_kernels)
        for item in fields(self):  # type: ignore[arg-type]
            if item.name in _CHECKS:
                _CHECKS[item.name](item.name, getattr(self, item.name))
        self._refuse_unused()

    # ------------------------------------------------------------------------------------- what it is made of

    @property
    def data_kernel(self) -> DataKernel:
        """The kernel on the data."""
        kernel = DATA_KERNELS[self.kernel_x]
        return kernel(**{item.name: getattr(self, item.name) for item in fields(kernel)})

    @property
    def uses_metric(self) -> bool:
        """Whether a metric determines which rows are neighbours; kernels of all pairs do not use one."""
        return self.data_kernel.listed

    @property
    def keeps_unit(self) -> bool:
        """Whether the map has the unit of the data."""
        return False

    @property
    def unit_parameter(self) -> str | None:
        """A parameter that is in the unit of the data, so that the map depends on the choice of that unit; None if there is none."""
        if self.kernel_x == "precomputed":
            return "a matrix of similarities"
        if self.kernel_x == "rbf":
            return None if getattr(self, "gamma", None) is None else "gamma"
        return None if self.any_scale or self.data_kernel.listed else f"kernel_x={self.kernel_x!r}"

    @property
    def accepts_graph(self) -> bool:
        """Whether a neighbour graph gives the same map as the rows that it was made from."""
        return False

    def resolved(self: _Self, source: Source) -> _Self:
        """The objective with parameters that are possible for these rows, or that are computed from them."""
        kernel = self.data_kernel.resolved(source)
        return self if kernel == self.data_kernel else replace(self, **asdict(kernel))  # type: ignore[type-var]

    def memory(self, n: int, columns: int, itemsize: int, listed_together: float) -> float:
        """Bytes that weights and forces of n rows take at most, measured (tests/fire/memory.py): by lists or for all pairs.

        With each row so many others stand in one list (for those that `joins_lists`).
        """
        k = self.neighbors(n)
        return 40.0 * n * n if k is None else (95.0 if itemsize == 8 else 80.0) * n * k

    def neighbors(self, n: int) -> int | None:
        """Number of neighbours needed for each of n rows, if any."""
        return self.data_kernel.neighbors(n)

    def usual_start(self, source: Source) -> str:
        """The start that init="auto" stands for."""
        if source.similarities is not None:
            return "random"
        return "spectral" if source.table is None else "pca"

    # ---------------------------------------------------------------------------------------------- the fit

    @abstractmethod
    def weights(self, source: Source, run: Run) -> Any:
        """The weights of pairs of rows, from the data."""

    @abstractmethod
    def problem(self, weights: Any, sums: Sums, run: Run) -> Any:
        """The loss with its value and gradient, for a solver."""

    def plan(
        self,
        *,
        solver: str = "auto",
        learning_rate: float | None = None,
        exaggeration: float | None = None,
        exaggeration_iter: int | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
    ) -> Schedule:
        """The schedule of the objective, with the given parameters in place of its defaults."""
        asked: dict[str, Any] = {
            "exaggeration": exaggeration,
            "exaggeration_iter": exaggeration_iter,
            "max_iter": max_iter,
            "tol": tol,
        }
        own = not isinstance(solver, str) or solver in ("auto", self.schedule.solver) or self.steps is None
        base = self.schedule if own else self.steps
        assert base is not None
        plan = base.changed(solver=solver, learning_rate=learning_rate, **asked)
        if solver == "auto" and self.steps is not None:
            plan = replace(plan, otherwise=self.steps.changed(**asked))
        return plan

    def check_pairs(self, pairs: str) -> str:
        """`pairs`, if sums over all pairs can be computed in this way."""
        return choice("pairs", pairs, PAIRS)

    def solver(self, plan: Schedule, problem: Any) -> Any:
        """The solver of a schedule for a problem."""
        return plan.make_solver(problem)

    # ------------------------------------------------------------------------------------------- afterwards

    @abstractmethod
    def forces(self, problem: Any, weights: Any, Y: Matrix) -> Forces:
        """Attractions and repulsions at a map."""

    def constants(self, problem: Any, Y: FloatArray) -> dict[str, float]:
        """Numbers of the finished map that are needed to place new rows."""
        return {}

    def listed(self, n: int, graph: Graph | None) -> int:
        """With how many of n fitted rows a new row is compared: as many as a fitted row has neighbours."""
        return n if graph is None or graph.knn_indices is None else int(graph.knn_indices.shape[1])

    @abstractmethod
    def place(self, new: NewRows, Y: FloatArray, constants: dict[str, float], run: Run) -> Matrix:
        """Positions of new rows, each on its own, with the kernels of the fit."""

    # ------------------------------------------------------------------------------------------- parameters

    @property
    def used_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that have an effect with the chosen kernels."""
        names = [item.name for item in fields(self)]  # type: ignore[arg-type]
        return tuple(name for name in names if name not in _GOES_WITH or name in self._used())

    def _used(self) -> set[str]:
        """The kernel parameters that are read."""
        return {item.name for item in fields(DATA_KERNELS[self.kernel_x])}

    def _kernels(self) -> str:
        return f"kernel_x={self.kernel_x!r}"

    def _refuse_unused(self) -> None:
        used = self.used_parameters
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if item.name not in used and value != item.default:
                refuse(
                    item.name,
                    f"left at {item.default!r} with {self._kernels()}",
                    value,
                    f"It goes with {_GOES_WITH[item.name]}.",
                )


def as_objective(objective: Any) -> Objective:
    """The objective itself, or the objective with this name and its defaults."""
    if isinstance(objective, Objective):
        return objective
    found: Objective = class_named(
        "objective", objective, registered("objectives"), "an object of winkel.objectives"
    )()
    return found


class PairObjective(Objective, named=False):
    """An objective whose loss is a sum over listed pairs and one over all pairs: a ForceProblem."""

    force_scale: ClassVar[float] = 4.0
    grid_nodes: ClassVar[float] = MOST_NODES

    kernel_y: str

    def __post_init__(self) -> None:
        own = {item.name for item in fields(self)}  # type: ignore[arg-type]
        choice(
            "kernel_y",
            self.kernel_y,
            [name for name, needed in MAP_KERNELS.items() if own.issuperset(needed)],
        )
        super().__post_init__()
        if self.kernel_y == "umap":
            number("min_dist", self.min_dist, 0.0, 3 * self.spread)  # type: ignore[attr-defined]

    @property
    def map_kernel(self) -> MapKernel:
        """The kernel on the map."""
        shape = {name: getattr(self, name) for name in MAP_KERNELS[self.kernel_y]}
        return map_kernel(self.kernel_y, **shape)

    def force_problem(
        self,
        listed: sp.csr_array,
        listed_form: str,
        all_form: str,
        sums: Sums,
        run: Run,
        *,
        all_weight: float = 1.0,
        normalized: bool = False,
        charges: FloatArray | None = None,
        constant: float = 0.0,
    ) -> ForceProblem:
        """The loss of listed weights and two forms of the kernel on the map; see `ForceProblem`."""
        kernel = self.map_kernel
        return ForceProblem(
            kernel=kernel,
            pairs=Pairs.of(listed, sums.dtype),
            listed_form=listed_form,
            all_form=all_form,
            all_weight=all_weight,
            normalized=normalized,
            charges=charges,
            constant=constant,
            how=choose_pairs(sums.pairs, kernel, all_form, listed.shape[0], sums.n_components),
            n_jobs=run.n_jobs,
            seed=run.seed,
        )

    def forces(self, problem: ForceProblem, weights: Any, Y: Matrix) -> Forces:
        """Attractions and repulsions at a map."""
        parts = problem.parts(Y)
        attractive, repulsive = parts.listed, parts.all_pairs
        moved = self.listed_repulsion(problem, weights, Y)
        if moved is not None:
            attractive, repulsive = attractive - moved, repulsive + moved

        def rule(i: NDArray[np.int64], j: NDArray[np.int64]) -> tuple[Matrix, Matrix, Matrix]:
            s = np.sum(np.square(Y[i] - Y[j]), axis=1)
            slope = problem.kernel.slope(s)
            return *self.scalars(Pair(i, j, s), problem, weights, parts.normalizer), slope

        return Forces(
            self,
            problem.constant + parts.listed_value + parts.all_value,
            parts.listed + parts.all_pairs,
            attractive,
            repulsive,
            self.force_scale,
            len(Y),
            rule,
        )

    def listed_repulsion(self, problem: ForceProblem, weights: Any, Y: Matrix) -> Matrix | None:
        """The part of the listed pairs' gradient that repels, if there is one."""
        return None

    @abstractmethod
    def scalars(
        self, pair: Pair, problem: ForceProblem, weights: Any, normalizer: float
    ) -> tuple[Matrix, Matrix]:
        """A and R of pairs."""

    def _used(self) -> set[str]:
        return super()._used() | set(MAP_KERNELS[self.kernel_y])

    def _kernels(self) -> str:
        return f"{super()._kernels()} and kernel_y={self.kernel_y!r}"


@dataclass(frozen=True, eq=False)
class Pair:
    """Pairs (i, j) and their squared distances on the map."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    s: Matrix

    def entries(self, S: sp.csr_array) -> Matrix:
        """The entries of a sparse matrix at these pairs."""
        return np.asarray(S[self.i, self.j], dtype=np.float64).ravel()


def check_not_negative(objective: Objective, K: sp.csr_array) -> None:
    """Raise if a similarity is negative."""
    if K.nnz and K.data.min() < 0:
        raise InvalidInputError(
            f"objective {objective.name!r} needs similarities that are not negative; the smallest is {K.data.min():g}."
        )


def xlogx(p: Matrix) -> Matrix:
    """p log p, zero where p is."""
    return np.asarray(p * np.log(np.where(p > 0, p, 1.0)))


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "n_neighbors": lambda name, value: integer(name, value, 1),
    "perplexity": lambda name, value: number(name, value, 1.0),
    "gamma": lambda name, value: optional(positive, name, value),
    "regularization": positive,
    "attraction": positive,
    "min_dist": lambda name, value: number(name, value, 0.0),
    "spread": positive,
    "dof": lambda name, value: number(name, value, 0.01, _MOST_FREEDOM),
    "negative_sample_rate": lambda name, value: optional(positive, name, value),
    "rank": lambda name, value: optional(integer, name, value, 1),
}
_GOES_WITH = {
    item.name: f'kernel_x="{kernel.name}"' for kernel in DATA_KERNELS.values() for item in fields(kernel)
} | {name: f'kernel_y="{kernel}"' for kernel, names in MAP_KERNELS.items() for name in names}
