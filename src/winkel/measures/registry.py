"""What a score is, and the registry of scores.

A function decorated with `score` becomes a score of `measure`, `compare`, `tune`, the explorer page, the plots and the
command line. The function takes a `Context`, which computes each quantity at most once, and returns the value of the score.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from ..checks import choice, flag, refuse
from ..errors import InvalidInputError, InvalidParameterError
from ..typing import FloatArray
from .sampling import mean_interval, spread

if TYPE_CHECKING:
    from .context import Context

# What a score may name in `needs`: quantities of the Context.
QUANTITIES = {
    "X": "rows of the data, where there are rows and not only distances",
    "labels": "classes of the rows as 0, 1, ..., −1 for unknown ones, where labels are passed",
    "problem": "the `winkel.Problem`, where one is passed",
    "data_neighbors": "nearest rows in the data of each measured row",
    "map_neighbors": "nearest rows in the map of each measured row",
    "ranks_in_data": "ranks in the data of a row's neighbours in the map",
    "ranks_in_map": "ranks in the map of a row's neighbours in the data",
    "co_ranks": "ranks of all rows in data and map, counted by the larger of the two",
    "distance_sums": "sums of squares and products of the distances from each measured row",
    "distances": "distances of pairs of rows in data and map",
    "norms": "norms of the rows in data and map",
    "angles": "angles in data and map between a row and its nearest rows by angle in the data",
    "links": "nearest rows in the data of all rows",
    "pieces": "the piece of the map that each row belongs to",
    "data_pieces": "the piece of the data's neighbour graph that each row belongs to",
}
_BETTER = ("higher", "lower")
_KNOWN: dict[str, ScoreDefinition] = {}
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve that belongs to a score; the report keeps both of its arrays under their names."""

    x_name: str
    x: FloatArray
    name: str
    y: FloatArray


@dataclass(frozen=True)
class Score:
    """One score of a map: its value, its range, and its meaning.

    Attributes
    ----------
    name : str
        The name in the registry.
    value : float
        The score of the map.
    range : tuple of float
        The smallest and the largest possible value.
    higher_is_better : bool
        Whether the largest value is the best one.
    meaning : str
        One sentence.
    per_point : ndarray or None
        One value per row, if the score has such values; NaN for rows that were not measured.
    interval : tuple of float or None
        For a sampled score, an interval that contains the exact value in at least 19 of 20 cases; None for an exact score.
    n_sampled : int or None
        Number of rows or pairs on which a sampled score is based.
    baseline : float or None
        The same score for a map by principal components in the same number of dimensions.
    curves : tuple of Curve
        Curves that belong to the score.
    detail : object or None
        Further results, such as the `Tearing` of "tearing"; it prints as a sentence.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> score = wk.measure(X, X[:, 20:22])["stress"]
    >>> score.best, score.exact, score.baseline < score.value
    (0.0, True, True)
    """

    name: str
    value: float
    range: tuple[float, float]
    higher_is_better: bool
    meaning: str
    per_point: FloatArray | None = None
    interval: tuple[float, float] | None = None
    n_sampled: int | None = None
    baseline: float | None = None
    curves: tuple[Curve, ...] = ()
    detail: Any = None

    @property
    def exact(self) -> bool:
        """Whether all rows and pairs were counted."""
        return self.n_sampled is None

    @property
    def best(self) -> float:
        """The best possible value."""
        return self.range[1] if self.higher_is_better else self.range[0]

    @property
    def worst(self) -> float:
        """The worst possible value."""
        return self.range[0] if self.higher_is_better else self.range[1]


@dataclass(frozen=True, eq=False)
class Value:
    """The result of a score's function, if it is more than a number or one number per row.

    Attributes
    ----------
    value : float or ndarray
        The score of the map; or one number for each measured row, whose mean and interval are then the score.
    per_point : ndarray or None, default=None
        One value per row.
    interval : tuple of float or None, default=None
        For a sampled score, the interval that contains the exact value.
    n_sampled : int or None, default=None
        Number of rows or pairs in the sample; None for an exact score.
    curves : tuple of Curve
        Curves to keep in the report.
    detail : object or None, default=None
        Further results; printed as a sentence, which the report shows.
    """

    value: float | FloatArray
    per_point: FloatArray | None = None
    interval: tuple[float, float] | None = None
    n_sampled: int | None = None
    curves: tuple[Curve, ...] = ()
    detail: Any = None


@dataclass(frozen=True)
class ScoreDefinition:
    """A registered score: its function, name, range, meaning and needs."""

    name: str
    function: Callable[[Context], Any]
    range: tuple[float, float]
    better: str
    meaning: str
    needs: tuple[str, ...] = ()
    baseline: bool = True

    def evaluate(self, context: Context) -> Score:
        """The Score of the context's map, without its baseline."""
        found = self.function(context)
        return self.score(found if isinstance(found, Value) else Value(found), context)

    def score(self, found: Value, context: Context | None = None) -> Score:
        """The Score of a Value. For one number per row it is the mean, with an interval if rows were sampled."""
        if np.ndim(found.value) > 0 and context is not None:
            found = self._mean(found, context)
        number = float(found.value)
        if math.isnan(number):
            raise InvalidInputError(f"the score {self.name!r} is not a number; its function must return one.")
        return Score(
            self.name, number, self.range, self.better == "higher", self.meaning,
            found.per_point, found.interval, found.n_sampled, curves=found.curves, detail=found.detail,
        )  # fmt: skip

    def _mean(self, found: Value, context: Context) -> Value:
        values, n, rows = np.asarray(found.value, dtype=np.float64), context.n, context.rows
        if values.shape == (len(rows),):
            per_point, interval = spread(values, rows, n), mean_interval(values, n, self.range)
            return replace(
                found, value=float(values.mean()), per_point=per_point, interval=interval, n_sampled=context.n_sampled
            )  # fmt: skip
        if values.shape == (n,):
            return replace(found, value=float(values.mean()), per_point=values)
        raise InvalidInputError(
            f"the score {self.name!r} must return a number, a Value, or one number for each of the {len(rows)} measured "
            f"rows; it returned an array of shape {values.shape}."
        )


ScoreChoice: TypeAlias = "str | Callable[[Context], Any]"


def score(
    name: str,
    *,
    range: tuple[float, float] = (-math.inf, math.inf),
    better: str = "higher",
    meaning: str = "",
    needs: Sequence[str] = (),
    baseline: bool = True,
) -> Callable[[_Function], _Function]:
    """Register the decorated function as a score.

    From then on it is one of the scores of `measure` and `compare`, and appears in their tables, files, plots and the explorer
    page; `tune` can choose parameters by it. The function takes a `Context` and returns a number, or one number for each
    measured row (the score is then their mean, with its interval), or a `Value` with more detail.

    Parameters
    ----------
    name : str
        The name of the score: a word that could be the name of a Python variable.
    range : tuple of float, default=(-inf, inf)
        The smallest and the largest possible value.
    better : {"higher", "lower"}, default="higher"
        Which end of the range is the best.
    meaning : str, default=""
        One sentence for tables; by default the first line of the function's docstring.
    needs : sequence of str, default=()
        Quantities of the context that the function reads; `winkel.measures.registry.QUANTITIES` lists them. The quantities that all scores
        of a call need are computed together. If a score needs something that the call does not have (labels, a problem, rows), it is left
        out of the report, or refused if it was requested by name.
    baseline : bool, default=True
        Whether to compute the score of principal components as well.

    Returns
    -------
    callable
        A decorator, which returns the function unchanged.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> @wk.score("nearest_kept", range=(0, 1), meaning="Share of rows that keep their nearest row.", needs=("ranks_in_map",))
    ... def nearest_kept(context):
    ...     return context.ranks_in_map[:, 0] == 1
    >>> X = wk.datasets.load_digits().X[:200]
    >>> report = wk.measure(X, X[:, 20:22], scores=["nearest_kept", "continuity"])
    >>> list(report.scores)
    ['nearest_kept', 'continuity']
    >>> 0 <= report["nearest_kept"].value <= 1
    True
    """
    _check(name, range, better, needs)

    def decorate(function: _Function) -> _Function:
        other = _KNOWN.get(name)
        if other is not None and _source(other.function) != _source(function):
            raise InvalidParameterError(
                f"there is a score {name!r} already, by {'.'.join(_source(other.function))}; choose another name."
            )
        low, high = range
        text = meaning or _first_line(function)
        definition = ScoreDefinition(
            name, function, (float(low), float(high)), better, text, tuple(needs), flag("baseline", baseline)
        )
        _KNOWN[name] = definition
        return function

    return decorate


def scores() -> dict[str, ScoreDefinition]:
    """All registered scores by name: first winkel's own, then those that were added.

    Returns
    -------
    dict of str to ScoreDefinition
        Each with `range`, `better`, `meaning` and `needs`.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.scores()["trustworthiness"].range
    (0.0, 1.0)
    """
    importlib.import_module(".scores", __package__)  # registers winkel's own
    return dict(_KNOWN)


def chosen_scores(wanted: Iterable[ScoreChoice] | ScoreChoice | None) -> list[ScoreDefinition]:
    """The definitions of scores that are named or passed as functions; for None, all registered scores."""
    known = scores()
    if wanted is None:
        return list(known.values())
    if isinstance(wanted, str) or callable(wanted):
        wanted = [wanted]
    found = [_definition(each, known) for each in wanted]
    if not found:
        refuse("scores", "None or a list of names and functions, at least one", wanted)
    by_name: dict[str, ScoreDefinition] = {}
    for definition in found:
        if by_name.setdefault(definition.name, definition).function is not definition.function:
            raise InvalidParameterError(
                f"two of the scores are called {definition.name!r}; rename one of the functions."
            )
    return list(by_name.values())


def _definition(wanted: Any, known: dict[str, ScoreDefinition]) -> ScoreDefinition:
    if isinstance(wanted, ScoreDefinition):
        return wanted
    if not callable(wanted):
        return known[choice("scores", wanted, known, also="a function of a Context")]
    for definition in known.values():
        if definition.function is wanted:
            return definition
    name = getattr(wanted, "__name__", type(wanted).__name__).strip("<>")
    return ScoreDefinition(name, wanted, (-math.inf, math.inf), "higher", _first_line(wanted))


def _check(name: Any, range: Any, better: Any, needs: Any) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
        refuse("name", "a word of letters, digits and underscores", name)
    try:
        low, high = map(float, range)
    except (TypeError, ValueError):
        refuse("range", "the least and the largest value", range)
    if not low < high:
        refuse("range", "the least and the largest value, the least first", range)
    choice("better", better, _BETTER)
    for need in (needs,) if isinstance(needs, str) else needs:
        choice("needs", need, QUANTITIES)
    if isinstance(needs, str):
        refuse("needs", "a list of names", needs)


def _source(function: Any) -> tuple[str, str]:
    """Where a function was defined; a function that is defined again at the same place, as in a notebook, replaces the older one."""
    return str(getattr(function, "__module__", "")), str(getattr(function, "__qualname__", repr(function)))


def _first_line(function: Any) -> str:
    return (getattr(function, "__doc__", None) or "").strip().split("\n")[0]
