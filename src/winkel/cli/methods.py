"""What `--method` and `--set` mean: a table of methods, one line each, and the reading of their settings."""

from __future__ import annotations

import importlib
import inspect
import time
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import winkel

from ..errors import InvalidParameterError

if TYPE_CHECKING:
    from ..embedding import Embedding

_PUBLIC = frozenset(dir(winkel))
_EXACT = "quadratic."  # prefix of targets that are functions with an exact solution
_OPTIONS = {  # parameters that have an option of their own
    "random_state": "--seed",
    "n_jobs": "--n-jobs",
    "max_memory": "--max-memory",
    "verbose": "--quiet",
    "callbacks": "--watch",
}


class UsageError(InvalidParameterError):
    """The command was used wrongly; its exit code is 2."""


@dataclass(frozen=True)
class Method:
    """A way to make a map: a class of `winkel.estimators`, or a function of `winkel.quadratic`."""

    name: str
    target: str
    summary: str
    preset: Mapping[str, Any] = field(default_factory=dict)

    @property
    def available(self) -> bool:
        """Whether this version has it; found out without importing it."""
        return self.target.startswith(_EXACT) or self.target in _PUBLIC


METHODS = {
    method.name: method
    for method in (
        Method("mde", "MDE", "minimum-distortion embedding"),
        Method("lvm", "LVM", "latent variable model on a neighbour graph"),
        Method("tsm", "TSM", "thresholded similarity matching"),
        Method("kds", "KDS", "k-deep simplex: local dictionary learning"),
        Method("tsne", "AttractRepel", "t-SNE's objective by forces", {"objective": "tsne"}),
        Method("umap", "AttractRepel", "UMAP's objective by forces", {"objective": "umap"}),
        Method("attract-repel", "AttractRepel", "attraction and repulsion with two kernels"),
        Method("pca", "quadratic.pca", "principal components"),
        Method("kernel-pca", "quadratic.kernel_pca", "kernel principal components"),
        Method("lle", "quadratic.lle", "locally linear embedding"),
        Method("isomap", "quadratic.isomap", "classical scaling of path lengths"),
        Method("laplacian", "quadratic.laplacian", "Laplacian eigenmap"),
    )
}


def available() -> dict[str, Method]:
    """The methods that this version has."""
    return {name: method for name, method in METHODS.items() if method.available}


def find_method(name: str) -> Method:
    """The method called `name`."""
    method = METHODS.get(name)
    if method is None or not method.available:
        trouble = "is not known" if method is None else "is not part of this version"
        raise UsageError(f"the method {name!r} {trouble}; choose one of {', '.join(available())}.")
    return method


@dataclass(frozen=True)
class Resources:
    """What every method is told beside its own settings."""

    seed: int = 0
    n_jobs: int | None = None
    max_memory: str | None = None
    verbose: bool = False
    callbacks: Sequence[object] = ()

    def parameters(self) -> dict[str, Any]:
        """The same as parameters of an estimator."""
        return {
            "random_state": self.seed,
            "n_jobs": self.n_jobs,
            "max_memory": self.max_memory,
            "verbose": self.verbose,
            "callbacks": list(self.callbacks) or None,
        }


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
    def n_components(self) -> int:
        """The dimension of the map that will be made."""
        default = _signature(self.method).parameters["n_components"].default
        return int(self.settings.get("n_components", default))

    @property
    def metric(self) -> str:
        """The distance between rows that the map is made from, by which it is judged too."""
        parameter = _signature(self.method).parameters.get("metric")
        return str(self.settings.get("metric", "euclidean" if parameter is None else parameter.default))

    def estimator(self, resources: Resources) -> Any:
        """The estimator, for a method that has one."""
        given = {**resources.parameters(), **self.method.preset, **self.settings}
        known = _signature(self.method).parameters
        return _target(self.method)(**{name: value for name, value in given.items() if name in known})

    def fit(self, X: Any, resources: Resources) -> Fitted:
        """The map of X."""
        if not self.method.target.startswith(_EXACT):
            model = self.estimator(resources)
            model.fit(X)
            if "callbacks" in model.get_params(deep=False):
                model.set_params(callbacks=None)  # they were for this fit, and no file can hold them
            return Fitted(model.embedding_, model)
        known = _signature(self.method).parameters
        given = {
            name: value
            for name, value in {**resources.parameters(), **self.settings}.items()
            if name in known and name != "verbose"
        }
        start = time.perf_counter()
        result = _target(self.method)(X, **given)
        return Fitted(self._exact(result, resources.seed, time.perf_counter() - start), None)

    def _exact(self, result: Any, seed: int, seconds: float) -> Embedding:
        from ..embedding import Embedding
        from ..solvers import History, Status

        row = {
            "iteration": [0],
            "objective": [result.objective],
            "residual": [float("nan")],
            "seconds": [seconds],
        }
        return Embedding(
            Y=result.to_textbook(),
            objective=result.objective,
            residual=float("nan"),
            history=History(row),  # type: ignore[arg-type]
            status=Status("converged", "The solution is exact."),
            seed=seed,
            settings={"method": self.method.name, **self.settings},
        )


def read_settings(method: Method, given: Sequence[str]) -> Recipe:
    """The recipe meant by `given`, texts "name=value" whose values are read as the parameter's type says."""
    kinds = settings_of(method)
    settings: dict[str, Any] = {}
    for text in given:
        name, (_, equals, value) = setting_name(text), text.partition("=")
        if not equals:
            raise UsageError(f"--set takes name=value; got {text!r}.")
        if name in _OPTIONS:
            raise UsageError(f"{name} is set by the option {_OPTIONS[name]}, not by --set.")
        if name not in kinds:
            raise UsageError(f"{method.name} has no setting {name!r}; it has {', '.join(kinds)}.")
        settings[name] = _value(name, value.strip(), kinds[name])
    return Recipe(method, settings)


def setting_name(text: str) -> str:
    """The name in "name=value"."""
    return text.partition("=")[0].strip().replace("-", "_")


def settings_of(method: Method) -> dict[str, frozenset[type]]:
    """Name of each setting, and the plain types it takes; none for one that cannot be written as text."""
    target = _target(method)
    hints = typing.get_type_hints(
        inspect.getattr_static(target, "__init__") if isinstance(target, type) else target
    )
    return {
        name: kinds
        for name, parameter in _signature(method).parameters.items()
        if name not in _OPTIONS
        and name not in method.preset
        and parameter.default is not inspect.Parameter.empty
        and (kinds := _kinds(hints.get(name, Any))) - {types.NoneType}
    }


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
    """The first reading of `text`, from the narrowest on, that is of an allowed kind."""
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


def _target(method: Method) -> Callable[..., Any]:
    if method.target.startswith(_EXACT):
        module, name = "winkel.methods.quadratic", method.target.removeprefix(_EXACT)
    else:
        module, name = "winkel.estimators", method.target
    return typing.cast(Callable[..., Any], getattr(importlib.import_module(module), name))


def _signature(method: Method) -> inspect.Signature:
    return inspect.signature(_target(method))
