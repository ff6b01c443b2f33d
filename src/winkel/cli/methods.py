"""The meaning of `--method` and `--set`: registered estimators, exact methods of `winkel.quadratic`, and their settings."""

from __future__ import annotations

import inspect
import time
import types
import typing
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import InvalidParameterError
from .console import Console

if TYPE_CHECKING:
    from ..data import Table
    from ..embedding import Embedding

_OPTIONS = {  # parameters that have an option of their own
    "random_state": "--seed",
    "n_jobs": "--n-jobs",
    "max_memory": "--max-memory",
    "verbose": "--quiet",
    "callbacks": "--watch",
    "time_limit": "--time-limit",
    "checkpoint": "--resume",
}


class UsageError(InvalidParameterError):
    """The command was used wrongly; its exit code is 2."""


@dataclass(frozen=True)
class Method:
    """A way to make a map: a class of estimators, or a function of `winkel.quadratic`."""

    name: str
    summary: str
    target: Any
    preset: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_estimator(self) -> bool:
        """Whether the target is a class, which uses a solver; functions are exact."""
        return isinstance(self.target, type)

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the target by name."""
        return inspect.signature(self.target).parameters

    @property
    def settings(self) -> dict[str, frozenset[type]]:
        """The name of each setting and the plain types it takes; settings that cannot be written as text are left out."""
        return self.settings_with({})

    def settings_with(self, values: Mapping[str, Any]) -> dict[str, frozenset[type]]:
        """The settings, given the values of some: the settings of an object that a parameter names are included."""
        found = {name: kinds for name, kinds in _plain(self.target).items() if name not in self.preset}
        for part in self._parts(values).values():
            plain = _plain(part)
            words = {name: values[name] for name, kinds in plain.items() if kinds == {str} and name in values}
            found |= {name: plain[name] for name in part(**words).used_parameters if name in plain}
        return found

    def make(self, settings: Mapping[str, Any], shared: Mapping[str, Any]) -> Any:
        """The estimator with these settings and with the parameters that all estimators have."""
        values = {**self.preset, **settings}
        for parameter, part in self._parts(values).items():
            own = {name: values.pop(name) for name in set(values) - set(self.parameters)}
            if own:
                values[parameter] = part(**own)
        return self.target(**values, **shared)

    def _parts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """For each parameter of the target that names an object, the possible classes of the object."""
        from ..problem.distortions.base import class_named, registered

        chosen = {**self.preset, **values}
        return {
            parameter: class_named(
                parameter, chosen.get(parameter, self.parameters[parameter].default), registered(kind), ""
            )
            for parameter, kind in getattr(self.target, "_named_objects", {}).items()
        }


def methods() -> dict[str, Method]:
    """All methods by name; imports every estimator."""
    from ..estimators import registry
    from ..methods import quadratic

    found = [
        Method(name, command.summary, cls, command.preset)
        for name, (cls, command) in registry.commands().items()
    ]
    for name, summary in quadratic.SUMMARIES.items():
        found.append(Method(name.replace("_", "-"), summary, getattr(quadratic, name)))
    return {method.name: method for method in sorted(found, key=lambda method: method.name)}


def find_method(name: str) -> Method:
    """The method called `name`."""
    known = methods()
    if name not in known:
        raise UsageError(f"the method {name!r} is not known; choose one of {', '.join(known)}.")
    return known[name]


@dataclass(frozen=True)
class Fitted:
    """A map that was made, and the estimator that can place new rows on it, if the method has one."""

    embedding: Embedding
    model: Any

    def save(self, path: str) -> None:
        """Write the model to a file for `winkel.load`; without an estimator, the embedding."""
        (self.embedding if self.model is None else self.model).save(path)


@dataclass(frozen=True)
class Recipe:
    """A method with the settings of one command."""

    method: Method
    settings: Mapping[str, Any]

    @property
    def n_components(self) -> int | None:
        """The dimension of the map that will be made, if it is a parameter."""
        parameter = self.method.parameters.get("n_components")
        return None if parameter is None else int(self.settings.get("n_components", parameter.default))

    @property
    def metric(self) -> str:
        """The distance between rows that the map is made from, and by which it is also measured."""
        parameter = self.method.parameters.get("metric")
        return str(self.settings.get("metric", "euclidean" if parameter is None else parameter.default))

    def fit(self, table: Table, shared: Mapping[str, Any], checkpoint_every: float | None = None) -> Fitted:
        """The map of the table; `shared` are parameters that all estimators have."""
        if not self.method.is_estimator:
            return self._solve(table, shared)
        model = self.method.make(self.settings, shared)
        if checkpoint_every is not None:
            model._checkpoint_every = checkpoint_every
        model.fit(table)
        model.set_params(callbacks=None, checkpoint=None)  # they were for this fit
        return Fitted(model.result_, model)

    def _solve(self, table: Table, shared: Mapping[str, Any]) -> Fitted:
        from ..embedding import Embedding
        from ..solvers import History, Status

        known = self.method.parameters
        resources = {name: value for name, value in shared.items() if name in known}
        start = time.perf_counter()
        result = self.method.target(table, **resources, **self.settings)
        row = {
            "iteration": [0],
            "objective": [result.objective],
            "residual": [float("nan")],
            "seconds": [time.perf_counter() - start],
        }
        embedding = Embedding(
            Y=result.to_textbook(),
            objective=result.objective,
            residual=float("nan"),
            history=History(row),  # type: ignore[arg-type]
            status=Status("converged", "The solution is exact."),
            seed=shared["random_state"],
            settings={"method": self.method.name, **self.settings},
        )
        return Fitted(embedding, None)


def shared_parameters(options: Namespace, console: Console) -> dict[str, Any]:
    """The parameters that all estimators have, from the options of a command."""
    return {
        "random_state": options.seed,
        "n_jobs": options.n_jobs,
        "max_memory": options.max_memory,
        "verbose": console.progress,
    }


def read_settings(method: Method, texts: Sequence[str]) -> Recipe:
    """The recipe for texts "name=value", whose values are read according to the type of the parameter."""
    kinds = method.settings_with({setting_name(text): text.partition("=")[2].strip() for text in texts})
    settings: dict[str, Any] = {}
    for text in texts:
        name, (_, equals, value) = setting_name(text), text.partition("=")
        if not equals:
            raise UsageError(f"--set takes name=value; got {text!r}.")
        if name in _OPTIONS:
            raise UsageError(f"{name} is set by the option {_OPTIONS[name]}, not by --set.")
        if name not in kinds:
            raise UsageError(f"{method.name} has no setting {name!r}; it has {', '.join(kinds)}.")
        settings[name] = _value(name, value.strip(), kinds[name])
    return Recipe(method, settings)


def _plain(target: Any) -> dict[str, frozenset[type]]:
    """Parameters of a class or function that can be written as text, and the plain types they take."""
    hints = typing.get_type_hints(target)
    return {
        name: kinds
        for name, parameter in inspect.signature(target).parameters.items()
        if name not in _OPTIONS
        and parameter.default is not inspect.Parameter.empty
        and (kinds := _kinds(hints.get(name, Any))) - {types.NoneType}
    }


def setting_name(text: str) -> str:
    """The name in "name=value"."""
    return text.partition("=")[0].strip().replace("-", "_")


def _kinds(hint: Any) -> frozenset[type]:
    """The plain types among those that `hint` allows."""
    plain = (types.NoneType, bool, int, float, str)
    if hint is Any:
        return frozenset(plain)
    if hint in plain:
        return frozenset([hint])
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return frozenset(type(value) for value in typing.get_args(hint))
    if origin is typing.Union or origin is types.UnionType:
        return frozenset().union(*map(_kinds, typing.get_args(hint)))
    return frozenset()


def _value(name: str, text: str, kinds: frozenset[type]) -> Any:
    """`text` as a value: of the allowed kinds, the narrowest that fits."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words and type(words[text.lower()]) in kinds:
        return words[text.lower()]
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                pass
    if str in kinds:
        return text
    names = {types.NoneType: "none", bool: "true or false", int: "an integer", float: "a number"}
    allowed = " or ".join(word for kind, word in names.items() if kind in kinds)
    raise UsageError(f"{name} must be {allowed}; got {text!r}.")
