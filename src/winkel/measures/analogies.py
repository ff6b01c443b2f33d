"""Analogy completion on word vectors: "a is to b as c is to ?" (Mikolov et al. 2013; Saul 2023, eq 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algebra import one_blas_thread
from ..errors import InvalidInputError
from ..typing import IntArray
from .registry import Score
from .sources import map_table

_BLOCK = 512  # questions answered at a time


@dataclass(frozen=True)
class Analogies:
    """Completion rates: over all questions and by category, and the answer to each.

    Attributes
    ----------
    overall : Score
        Share of the questions that are completed correctly.
    by_category : mapping of str to Score
        The same for each category.
    answers : ndarray of int
        The row of Y nearest to c + b − a, or −1 if a word of the question is not among the words; such questions are left out
        of the rates.
    right : ndarray of bool
        Whether each answer is d.
    """

    overall: Score
    by_category: Mapping[str, Score]
    answers: IntArray
    right: NDArray[np.bool_]

    def __str__(self) -> str:
        lines = [f"{'all':<32} {self.overall.value:6.1%}  of {int((self.answers >= 0).sum())} questions"]
        lines += [f"{name:<32} {score.value:6.1%}" for name, score in self.by_category.items()]
        return "\n".join(lines)


def complete_analogies(
    Y: Any, words: ArrayLike, questions: ArrayLike, *, categories: ArrayLike | None = None
) -> Analogies:
    """The Analogies that word vectors `Y` complete.

    The answer is the word nearest to c + b − a by angle, except b and c (eq 13); it is correct if it is d. Words are compared
    as they are written, or in lower case if the words of Y are in lower case.

    Parameters
    ----------
    Y : array, estimator, Embedding or file
        Vectors, or a map of them.
    words : array of str, shape (n_samples,)
        Names of the rows.
    questions : array of str, shape (n_questions, 4)
        Four words per row, a : b = c : d.
    categories : array of str, shape (n_questions,), or None, default=None
        The category of each question, for rates by category.

    Returns
    -------
    Analogies
        Rates, and the answer to each question.

    Examples
    --------
    >>> from winkel.measures.analogies import complete_analogies
    >>> words, Y = ["man", "woman", "king", "queen"], [[1.0, 0.0], [0.0, 1.0], [2.0, 0.5], [1.0, 1.5]]
    >>> found = complete_analogies(Y, words, [["man", "woman", "king", "queen"]], categories=["family"])
    >>> found.overall.value, words[found.answers[0]]
    (1.0, 'queen')
    """
    vectors = map_table(Y, "Y").values
    asked = _rows_of_words(words, questions, len(vectors))
    known = np.asarray((asked >= 0).all(axis=1))
    answers = np.full(len(asked), -1, dtype=np.int64)
    norms = np.linalg.norm(vectors, axis=1)
    directions = (vectors / np.where(norms > 0, norms, 1)[:, None]).astype(vectors.dtype)
    which = np.flatnonzero(known)
    with one_blas_thread():
        for start in range(0, len(which), _BLOCK):
            part = which[start : start + _BLOCK]
            a, b, c, _ = asked[part].T
            target = vectors[c] + (vectors[b] - vectors[a])
            product = target @ directions.T
            lines = np.arange(len(part))
            product[lines, b] = product[lines, c] = -np.inf
            answers[part] = product.argmax(axis=1)
    right = known & (answers == asked[:, 3])
    kinds = None if categories is None else np.asarray(categories).astype(str)
    if kinds is not None and kinds.shape != (len(asked),):
        raise InvalidInputError(
            f"categories must name one category per question, {len(asked)}; got shape {kinds.shape}."
        )
    by_category = {}
    if kinds is not None:
        for kind in dict.fromkeys(kinds.tolist()):
            by_category[kind] = _rate(kind, right, np.asarray(known & (kinds == kind)))
    return Analogies(_rate("analogies", right, known), by_category, answers, right)


def _rows_of_words(words: ArrayLike, questions: ArrayLike, n: int) -> IntArray:
    """The row of each word of each question, -1 for unknown words."""
    names = [str(word) for word in np.asarray(words).ravel()]
    asked = np.asarray(questions)
    if len(names) != n:
        raise InvalidInputError(f"words must name the {n} rows of Y; got {len(names)}.")
    if asked.ndim != 2 or asked.shape[1] != 4:
        raise InvalidInputError(f"questions must have four words per row; got shape {asked.shape}.")
    row = {name: i for i, name in reversed(list(enumerate(names)))}
    found = [row.get(word, row.get(word.lower(), -1)) for word in map(str, asked.ravel())]
    return np.array(found, dtype=np.int64).reshape(asked.shape)


def _rate(name: str, right: NDArray[np.bool_], counted: NDArray[np.bool_]) -> Score:
    value = float(right[counted].mean()) if counted.any() else 0.0
    return Score(name, value, (0.0, 1.0), True, "share of analogies that are completed correctly")
