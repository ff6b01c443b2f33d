"""Which columns of parquet files and data frames are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InvalidInputError, InvalidParameterError


@dataclass(frozen=True)
class Columns:
    """The named columns, or all; without the columns to leave out."""

    named: Sequence[str] | None = None
    dropped: Sequence[str] = ()

    @property
    def chosen(self) -> bool:
        """Whether any were named, or are left out."""
        return self.named is not None or len(self.dropped) > 0

    def among(self, there: Sequence[str], what: str) -> list[str]:
        """The columns to use, out of the available ones."""
        unknown = [name for name in (*(self.named or ()), *self.dropped) if name not in there]
        if unknown:
            raise InvalidParameterError(f"{what} has no column {unknown[0]!r}.")
        found = [name for name in (there if self.named is None else self.named) if name not in self.dropped]
        if not found:
            raise InvalidInputError(f"All columns of {what} are left out.")
        return found
