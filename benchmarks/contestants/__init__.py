"""One function a contestant: given the task, it imports its library and returns the function that is timed.

That function takes the data and returns named arrays, which the harness scores in its own process. These
modules import nothing but the standard library at their top: the import of the library is part of what is
measured.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """What is the same for every contestant of a run."""

    threads: int
    seed: int = 0
    n_neighbors: int = 15
    metric: str = "euclidean"  # or "precomputed": the data is a matrix of distances

    def needs_rows(self) -> None:
        """Raise for a library that takes rows only."""
        if self.metric == "precomputed":
            raise NotImplementedError("it takes rows, not distances")
