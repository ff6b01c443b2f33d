"""Charts about a map: the progress of the fit, and the distribution of its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError
from .layers import ALARM, PALETTE
from .plots import require_matplotlib, save_figure


def plot_history(
    runs: Any, *, columns: Sequence[str] = ("objective",), ax: Any = None, path: str | Path | None = None
) -> Any:
    """The axes with the objective (or other columns of the history) at every iteration.

    `runs` is an Embedding, a fitted estimator or a History, or a dict of these by name. The scale is logarithmic if all
    numbers are positive and span more than a factor of ten.
    """
    named = runs if isinstance(runs, Mapping) and "iteration" not in runs else {"": runs}
    lines = {}
    for name, run in named.items():
        history = getattr(getattr(run, "result_", run), "history", run)
        for each in columns:
            if each not in history:
                raise InvalidInputError(f"The history has no {each!r}; it has {', '.join(history)}.")
            title = " ".join(part for part in (name, each if len(columns) > 1 or not name else "") if part)
            lines[title] = (np.asarray(history["iteration"]), np.asarray(history[each], dtype=float))
    ax = _axes(ax)
    for k, (title, (iteration, value)) in enumerate(lines.items()):
        ax.plot(iteration, value, color=PALETTE[k % len(PALETTE)], label=title, linewidth=1.6)
    known = np.concatenate([value[np.isfinite(value)] for _, value in lines.values()])
    if len(known) and known.min() > 0 and known.max() > 10 * known.min():
        ax.set_yscale("log")
    ax.set(xlabel="iteration", ylabel=columns[0] if len(columns) == 1 else "")
    return _finished(ax, path, legend=len(lines) > 1)


def plot_distortions(
    distortions: ArrayLike | Mapping[str, ArrayLike], *, ax: Any = None, path: str | Path | None = None
) -> Any:
    """The axes with the cumulative distribution of distortions (the share of pairs up to each distortion), for one map or several by name.

    `distortions` are the distortions of pairs, such as `problem.distortions(Y)`.
    """
    named = distortions if isinstance(distortions, Mapping) else {"": distortions}
    ax = _axes(ax)
    for k, (name, values) in enumerate(named.items()):
        ordered = np.sort(_numbers(values, "distortions"))
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        ax.step(ordered, share, where="post", color=PALETTE[k % len(PALETTE)], label=name, linewidth=1.6)
    ax.set(xlabel="distortion", ylabel="share of pairs", ylim=(0, 1.01))
    return _finished(ax, path, legend=len(named) > 1)


def plot_angles(
    angles: ArrayLike | Mapping[str, ArrayLike],
    *,
    threshold: float | None = None,
    bins: int = 90,
    ax: Any = None,
    path: str | Path | None = None,
) -> Any:
    """The axes with the histogram of angles in degrees, for one set or several by name, and a threshold as a line."""
    named = angles if isinstance(angles, Mapping) else {"": angles}
    ax = _axes(ax)
    for k, (name, values) in enumerate(named.items()):
        ax.hist(
            _numbers(values, "angles"),
            bins=bins,
            range=(0, 180),
            density=True,
            histtype="stepfilled" if len(named) == 1 else "step",
            color=PALETTE[k % len(PALETTE)],
            alpha=0.85,
            linewidth=1.6,
            label=name,
        )
    if threshold is not None:
        ax.axvline(threshold, color=ALARM, linewidth=1.4, linestyle="--", label=f"threshold {threshold:g}°")
    ax.set(
        xlabel="angle in degrees", ylabel="share of pairs per degree", xlim=(0, 180), xticks=range(0, 181, 30)
    )
    return _finished(ax, path, legend=len(named) > 1 or threshold is not None)


def _numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64).ravel()
    if len(array) == 0 or not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must hold numbers, all of them finite; got {len(array)} entries.")
    return array


def _axes(ax: Any) -> Any:
    plt = require_matplotlib()
    return plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1] if ax is None else ax


def _finished(ax: Any, path: str | Path | None, *, legend: bool) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#E3E7EB", linewidth=0.8)
    ax.set_axisbelow(True)
    if legend:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    if path is not None:
        save_figure(ax.figure, path)
    return ax
