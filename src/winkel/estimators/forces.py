"""`ForceEmbedder`, what estimators by attractions and repulsions share; `as_known_from`, names that other packages use."""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

from ..checks import choice, integer
from ..data import Table
from ..errors import InvalidParameterError
from ..graph.knn import count_items
from ..graph.metrics import takes_sparse
from ..methods.forces.fit import INITS, Model, Settings, fit, forecast, objective_of, place
from ..methods.forces.objectives.base import Objective
from ..methods.labels import read_labels
from ..typing import FloatArray
from .base import ItemsEmbedder
from .schema import Part, check_number

_Class = TypeVar("_Class", bound=type)
# Models of fitted estimators; not a part of them, which are copied and saved without.
_MODELS: WeakKeyDictionary[ForceEmbedder, tuple[Any, Any, Model]] = WeakKeyDictionary()


@dataclass(eq=False, repr=False, kw_only=True)
class ForceEmbedder(ItemsEmbedder):
    """An estimator whose map is made by the forces of an objective."""

    _fitted: ClassVar[tuple[str, ...]] = ("_rows",)  # None where the map was made from something else
    _schema: ClassVar[dict[str, Part]] = {"_rows": Part(("n", "m"), optional=True)}

    def _check_loaded(self) -> None:
        super()._check_loaded()
        objective = objective_of(self._result.settings)  # says what is missing
        for name in objective.kept_constants if self._rows is not None else ():
            check_number(name, self._result.settings[name], type(self).__name__)

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the map of the rows of X; y is ignored."""
        return self._fit(X)

    def _fit(self, X: Any, y: Any = None, label_weight: float = 0.0) -> Any:
        """Find the map of the rows of X; if there are labels, memberships are adjusted towards them."""
        similarities = self._takes_similarities
        data = self._read(X) if similarities else self._items(X)
        n = count_items(data)
        settings = self._settings(n)
        if y is not None:
            settings = replace(settings, labels=read_labels(y, n), label_weight=label_weight)
        with self._working(data) as run:
            self.result_ = fit(data, settings, run)
            self._rows = data.values if isinstance(data, Table) and not similarities else None
        return self

    def _forecast(self, data: Any) -> float:
        return forecast(data, self._settings(count_items(data)), self._run().n_jobs)

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        model, new = self._model(), self._read_new(X)
        return self._in_unit(place(model, new, self._placing_run()))

    def _model(self) -> Model:
        """The fitted model, kept with its preparations for placing rows as long as the map stays the same."""
        self._check_rows(getattr(self, "_rows", None))
        kept = _MODELS.get(self)
        if kept is None or kept[0] is not self.result_ or kept[1] != self.metric:
            made = self._at_order_one()
            rows = Table(made._rows, validated=True)
            model = Model.of(made._result, rows, str(self.metric), self._placing_run())
            _MODELS[self] = kept = (self.result_, self.metric, model)
        return kept[2]

    def _powers(self) -> dict[str, int]:
        return {"Y": int(self._objective().keeps_unit), "graph": self._metric_power, "gamma": -2, "_rows": 1}

    def _in_unit_of_data(self) -> str | None:
        return self._objective().unit_parameter or super()._in_unit_of_data()

    @property
    def accepts_graph(self) -> bool:
        """Whether a neighbour graph gives the same map as the rows that it was made from."""
        return self._objective().accepts_graph

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.metric)
        tags.input_tags.pairwise = self._takes_similarities or self.metric == "precomputed"
        return tags

    @property
    def _takes_similarities(self) -> bool:
        """Whether X is a matrix of similarities."""
        return False

    @abstractmethod
    def _objective(self) -> Objective:
        """The objective for the parameters."""

    @abstractmethod
    def _settings(self, n: int) -> Settings:
        """The parameters, checked, for n rows."""

    def _settings_of(self, objective: Objective, plan: Any, pairs: str) -> Settings:
        """The settings of an estimator whose `init` is a name or an array."""
        named = isinstance(self.init, str)
        return Settings(
            n_components=integer("n_components", self.n_components, 1),
            objective=objective,
            plan=plan,
            pairs=pairs,
            metric=self.metric,
            init=choice("init", self.init, INITS, also="an array") if named else self.init,
        )


def as_known_from(
    package: str, renamed: Mapping[str, str], without: Mapping[str, tuple[tuple[Any, ...], str]]
) -> Callable[[_Class], _Class]:
    """A decorator for a class that also takes the parameter names of `package`, so that only the import line changes.

    `renamed` maps a name in `package` to the name here. `without` lists parameters that have no counterpart here: for each, the values
    that are accepted because they change nothing (`package`'s defaults), and the reason why any other value is refused.
    """

    def decorate(cls: _Class) -> _Class:
        own = cls.__init__  # type: ignore[misc]

        @functools.wraps(own)
        def init(self: Any, *args: Any, **given: Any) -> None:
            for name, (harmless, reason) in without.items():
                if name in given and not any(_same(given[name], value) for value in harmless):
                    raise InvalidParameterError(
                        f"{name}={given[name]!r}, a parameter of {package}, has no counterpart in winkel.{cls.__name__}: "
                        f"{reason}"
                    )
                given.pop(name, None)
            for there, here in renamed.items():
                if there in given:
                    if here in given:
                        raise InvalidParameterError(f"{there} and {here} are the same; give one of them.")
                    given[here] = given.pop(there)
            own(self, *args, **given)

        init.__signature__ = inspect.signature(own)  # type: ignore[attr-defined]
        cls.__init__ = init  # type: ignore[misc]
        return cls

    return decorate


def _same(a: Any, b: Any) -> bool:
    """Whether two plain values are equal; values that contain arrays never are."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return a is b or (isinstance(a, bool | int | float | str) and a == b)
