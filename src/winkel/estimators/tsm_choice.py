"""How to choose dimensions and threshold of TSM: a table of what each choice keeps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..data import Table
from ..errors import DataWarning, InvalidParameterError
from ..measures.angles import angular_deviation, jaccard, norm_error


@dataclass(frozen=True)
class Choice:
    """One line of the table: what is kept with a number of dimensions and a threshold.

    A lower threshold asks for more angles, which are harder to keep in few dimensions.

    Attributes
    ----------
    n_components : int
        Dimension of the map.
    sparsity : float
        Share of pairs that were meant not to be similar.
    threshold : float
        The cosine above which rows are similar.
    similar : float
        Share of pairs that are similar.
    isolated : float
        Share of rows that are similar to no other.
    deviation : float
        Mean change of the angles of similar pairs in degrees (eq 11).
    jaccard : float
        Share of the similar pairs that data and map have in common (eq 12).
    norm_error : float
        Median relative change of the norms, before rows are scaled back to their own norms (as with norms="matched").
    """

    n_components: int
    sparsity: float
    threshold: float
    similar: float
    isolated: float
    deviation: float
    jaccard: float
    norm_error: float


@dataclass(frozen=True)
class TradeOff:
    """The table of choices that `TSM.choose` returns; prints as a table.

    Attributes
    ----------
    choices : tuple of Choice
        One for each combination of sparsity and dimension.
    """

    choices: tuple[Choice, ...]

    def best(self, *, max_deviation: float = 1.0) -> Choice:
        """The choice with the fewest dimensions, then with the most similar pairs, that changes angles by at most `max_deviation` degrees.

        If there is none, the choice that changes angles least.
        """
        allowed = [c for c in self.choices if c.deviation <= max_deviation]
        if allowed:
            return min(allowed, key=lambda c: (c.n_components, -c.similar))
        return min(self.choices, key=lambda c: c.deviation)

    def __str__(self) -> str:
        lines = ["dimensions  threshold  similar  isolated  deviation  jaccard  norm error"]
        lines += [
            f"{c.n_components:10d}  {c.threshold:9.3f}  {c.similar:7.2%}  {c.isolated:8.1%}  {c.deviation:8.2f}°  "
            f"{c.jaccard:7.3f}  {c.norm_error:10.1%}"
            for c in self.choices
        ]
        return "\n".join(lines)


def trade_off(
    make: Callable[[int, float], Any],
    table: Table,
    n_components: Sequence[int],
    sparsity: Sequence[float],
    n_jobs: int | None,
) -> TradeOff:
    """The TradeOff over all combinations of dimension and sparsity, each fitted to `table` by `make(n_components, sparsity)`."""
    if not list(n_components) or not list(sparsity):
        raise InvalidParameterError("n_components and sparsity must each contain at least one value.")
    found = []
    for share in sparsity:
        for d in n_components:
            model = make(d, share)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # what they say is in the table
                Y = model.fit_transform(table)
            tau = model.threshold_
            found.append(
                Choice(
                    int(d),
                    float(share),
                    tau,
                    1.0 - float(model.result_.settings["sparsity"]),
                    len(model.isolated_) / len(Y),
                    angular_deviation(table, Y, threshold=tau, n_jobs=n_jobs).value,
                    jaccard(table, Y, threshold=tau, n_jobs=n_jobs).value,
                    norm_error(table, Y).value,
                )
            )
    return TradeOff(tuple(found))
