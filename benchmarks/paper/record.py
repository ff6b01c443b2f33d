"""What every script of the papers prints alike: the setting of a run, and a measured number beside the paper's.

A line that begins with "worse than the paper" is found again by `python -m benchmarks.paper`, which lists all of them first.
"""

from __future__ import annotations

import platform
from datetime import date
from importlib.metadata import version

WORSE, OTHER, GOOD = "- worse than the paper", "- not the paper's data", "- no worse than the paper"


def against(
    what: str, ours: float, paper: float, *, lower: bool = False, form: str = ".3g", other_data: str = ""
) -> None:
    """Print a number beside the paper's; `lower` where less is better, `other_data` names data that stand in for the paper's."""
    behind = ours > paper if lower else ours < paper
    verdict = OTHER if other_data else WORSE if behind else GOOD
    note = f" ({other_data})" if other_data else ""
    print(f"{verdict}: {what}: {ours:{form}}, paper {paper:{form}}{note}", flush=True)


def setting() -> str:
    """When, with which versions and on what machine."""
    packages = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    today = date.today()
    return (
        f"{today.day} {today:%B %Y}, winkel {version('winkel')}, Python {platform.python_version()}, {versions}, "
        f"{platform.machine()}, two shared cores"
    )
