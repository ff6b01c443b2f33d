"""What every script of the papers prints alike: the setting of a run, and a measured number beside the paper's.

A line that begins with "worse than the paper" is found again by `python -m benchmarks.paper`, which lists all of them first.
"""

from __future__ import annotations

import io
import platform
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

import winkel as wk
from winkel.run import available_cores

WORSE, OTHER, GOOD = "- worse than the paper", "- not the paper's data", "- no worse than the paper"


def against(
    what: str,
    ours: float,
    paper: float,
    *,
    lower: bool = False,
    form: str = ".3g",
    other_data: str = "",
    beside: str = "paper",
) -> None:
    """Print a number beside the paper's; `lower` where less is better, `other_data` names data that stand in for the paper's,
    and `beside` what the number is compared with if not with the paper's own."""
    # As exact as both are printed: the papers' numbers are rounded, too.
    seen, theirs = float(f"{ours:{form}}"), float(f"{paper:{form}}")
    behind = seen > theirs if lower else seen < theirs
    verdict = OTHER if other_data else WORSE if behind else GOOD
    note = f" ({other_data})" if other_data else ""
    print(f"{verdict}: {what}: {ours:{form}}, {beside} {paper:{form}}{note}", flush=True)


def setting() -> str:
    """When, with which versions and on what machine."""
    packages = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    today, cores = date.today(), available_cores()
    return (
        f"{today.day} {today:%B %Y}, winkel {wk.__version__}, Python {platform.python_version()}, {versions}, "
        f"{platform.machine()}, {'one shared core' if cores == 1 else 'two shared cores' if cores == 2 else f'{cores} cores'}"
    )


def small_maps(maps: Mapping[str, Any], path: Path, *, labels: Any = None, values: Any = None) -> None:
    """Several small maps side by side, coloured by labels or by a number, as a picture of few kilobytes."""
    import matplotlib.pyplot as plt

    columns = min(3 if len(maps) <= 9 else 5, len(maps))
    rows = -(-len(maps) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.6 * columns, 2.6 * rows), layout="constrained", squeeze=False
    )
    colors = (
        None
        if labels is None and values is None
        else values
        if labels is None
        else np.unique(labels, return_inverse=True)[1]
    )
    for ax in axes.ravel():
        ax.axis("off")
    for ax, (name, Y) in zip(axes.ravel(), maps.items()):
        Y = np.asarray(Y)
        ax.scatter(
            Y[:, 0],
            Y[:, 1],
            c=colors,
            s=2 if len(Y) > 100 else 20,
            linewidths=0,
            cmap="RdBu" if labels is None else "tab20",
        )
        outside = focus(ax, Y)
        title = f"{name} ({outside} of {len(Y)} points outside)" if outside else name
        ax.set_title("\n".join(wrap(title, 36)), fontsize=8)
    save_small(figure, path)


def focus(ax: Any, Y: np.ndarray) -> int:
    """Axes on the middle 96 % of many points where a few far ones would squeeze them; how many then lie outside."""
    if len(Y) <= 100:
        return 0
    low, high = np.quantile(Y[:, :2], [0.02, 0.98], axis=0)
    low, high = low - 0.2 * (high - low), high + 0.2 * (high - low)
    if np.all(np.ptp(Y[:, :2], axis=0) < 2.0 * (high - low)):
        return 0
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return int(np.sum(np.any((Y[:, :2] < low) | (Y[:, :2] > high), axis=1)))


def curves(path: Path, series: Mapping[str, Any], xlabel: str, ylabel: str, *, log: bool) -> None:
    """Lines over 1, 2, …, in one small picture."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4.6, 3.0), layout="constrained")
    for name, values in series.items():
        ax.plot(np.arange(1, len(values) + 1), values, label=name)
    ax.set(xlabel=xlabel, ylabel=ylabel, yscale="log" if log else "linear")
    ax.legend(frameon=False, fontsize=7)
    save_small(figure, path)


def save_small(figure: Any, path: Path) -> None:
    """A figure as a picture of 64 colours."""
    import matplotlib.pyplot as plt
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=72)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)
