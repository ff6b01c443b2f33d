"""Matching of given similarities: the map of a sparse matrix S (Saul 2023, eqs 1 and 4–9)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...algebra import largest_eigenvectors, largest_of_operator
from ...checks import integer, number
from ...embedding import Embedding
from ...errors import InvalidInputError
from ...run import Run
from ...solvers import iterate
from ...typing import RandomState
from ..rows import row_norms
from .factors import Factors, Matrix, outputs, warn_if_not_a_gram_matrix
from .fit import start_threshold
from .matching import Matching
from .quasi_newton import QuasiNewton
from .similarity import Similarities

_SMALL = 1000  # items whose matrix may be dense at the start
_NO_SUM = -np.inf  # the sum constraint (eq 18) needs rows, which are not known here


def match_similarities(
    S: Any,
    n_components: int = 16,
    *,
    threshold: float,
    max_iter: int = 250,
    tol: float = 0.0,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Embedding:
    """The map whose thresholded similarities max(0, y_i·y_j − τ‖y_i‖‖y_j‖) match a given matrix S.

    Since there are no rows, there are no virtual inputs, no sum constraint (eq 18) and no transform. The norm of an item follows from its
    diagonal entry, (1 − τ)‖y‖².

    Parameters
    ----------
    S : sparse matrix or array of shape (n, n)
        Similarities: symmetric, nonnegative, with a positive diagonal.
    n_components : int, default=16
        Dimension of the map.
    threshold : float
        τ, the cosine above which items are similar.
    max_iter : int, default=250
        Number of passes over all pairs.
    tol : float, default=0.0
        Stop when a pass changes the matrix by at most this share of its norm; 0 makes all passes.
    random_state : int, numpy Generator or None, default=None
        Only recorded in the result; nothing is random.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.

    Returns
    -------
    Embedding
        The map, its objective, history and status.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.methods.tsm import match_similarities
    >>> angle = np.linspace(0, 6, 60)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> S = np.maximum(0, X @ X.T - 0.9)
    >>> match_similarities(S, 2, threshold=0.9, max_iter=30).Y.shape
    (60, 2)
    """
    d = integer("n_components", n_components, 1)
    tau = number("threshold", threshold, 0.0, 1.0, low_open=True, high_open=True)
    passes, stop = integer("max_iter", max_iter, 0), number("tol", tol, 0.0)
    given = _checked(S)
    run = Run.of(random_state=random_state, n_jobs=n_jobs)
    n = given.shape[0]
    rank = min(d, n)
    none = np.empty(0, dtype=np.int64)
    similar = Similarities(
        given.indptr.astype(np.int64), given.indices.astype(np.int32), given.data.astype(np.float32),
        tau, _NO_SUM, 0, none,
    )  # fmt: skip
    norms = np.sqrt(given.diagonal() / (1.0 - tau))
    V = _start(given, norms, rank, tau)
    start = np.column_stack([V, np.sqrt(start_threshold(tau, "strict")) * row_norms(V)])
    problem = Matching(similar, run)
    found = iterate(QuasiNewton(tol=stop), problem, start, run, max_iter=passes)
    made = outputs(found.state.Y, found.state.values, tau)
    warn_if_not_a_gram_matrix(made)
    length = row_norms(made.Y)
    Y = np.zeros((n, d))
    Y[:, :rank] = made.Y * np.divide(norms, length, out=np.zeros(n), where=length > 0)[:, None]
    return Embedding(
        Y=Y,
        objective=problem.objective(Factors(np.asarray(found.state.Y, np.float64), found.state.values)),
        residual=found.state.residual,
        history=found.history,
        status=found.status,
        seed=run.seed,
        settings={"method": "TSM", "n_components": d, "threshold": tau, "max_iter": passes},
        blocks={"eigenvalues": made.eigenvalues},
    )


def _checked(S: Any) -> sp.csr_matrix:
    """S in canonical compressed rows without stored zeros."""
    given = sp.csr_matrix(S, dtype=np.float64)
    given.sum_duplicates()
    given.eliminate_zeros()
    given.sort_indices()
    if given.shape[0] != given.shape[1] or given.shape[0] < 2:
        raise InvalidInputError(f"S must be square, with two items or more; got shape {given.shape}.")
    if not np.isfinite(given.data).all() or (given.data < 0).any():
        raise InvalidInputError("S must be finite and not negative.")
    if not (given.diagonal() > 0).all():
        raise InvalidInputError(
            f"Every item must be similar to itself: S[{int(np.argmin(given.diagonal()))}] has no diagonal entry above zero."
        )
    apart = abs(given - given.T)
    if apart.nnz and float(apart.max()) > 1e-6 * float(given.data.max()):
        raise InvalidInputError("S must be symmetric; give (S + S.T) / 2 if it should be.")
    return given


def _start(S: sp.csr_matrix, norms: Matrix, d: int, tau: float) -> Matrix:
    """The leading eigenvectors of S + τ s sᵀ, scaled by their importance: S for similar pairs, and the smallest possible value for others."""
    n = S.shape[0]
    if n <= _SMALL:
        values, vectors = largest_eigenvectors(S.toarray() + tau * np.outer(norms, norms), d)
    else:
        values, vectors = largest_of_operator(
            lambda v: np.asarray(S @ v) + tau * np.outer(norms, np.sum(norms[:, None] * v, axis=0)), n, d
        )
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
