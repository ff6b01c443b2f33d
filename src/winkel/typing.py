"""Names for the types that are shared by several stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
Metric: TypeAlias = str | Callable[[Any, Any], float]
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
# Beside a type: None in cases that who calls knows of (data without labels, a graph without lists), and need not ask about each time.
MaybeNone: TypeAlias = Any
