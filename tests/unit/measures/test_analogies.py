"""Analogies on vectors whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from winkel.errors import InvalidInputError
from winkel.measures.analogies import complete_analogies

WORDS = ["boy", "girl", "father", "mother", "lion", "athens", "greece"]
VECTORS = np.array(
    [[1.0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 2, 0], [0, 1.1, 2, 0], [0, 0, 1, 3], [5, 0, 0, 1], [5, 0, 1, 1]]
)


def test_a_parallelogram_completes_the_analogy():
    found = complete_analogies(
        VECTORS,
        WORDS,
        [
            ["boy", "girl", "father", "mother"],
            ["boy", "girl", "father", "lion"],
            ["Athens", "Greece", "boy", "rome"],
        ],
        categories=["family", "family", "capitals"],
    )
    np.testing.assert_array_equal(found.answers, [3, 3, -1])
    np.testing.assert_array_equal(found.right, [True, False, False])
    assert found.overall.value == 0.5  # the question with an unknown word is left out
    assert {name: s.value for name, s in found.by_category.items()} == {"family": 0.5, "capitals": 0.0}
    assert "family" in str(found)


def test_prompt_words_are_no_answer():
    # boy - boy + girl is girl itself, which may not be given back.
    found = complete_analogies(VECTORS, WORDS, [["boy", "boy", "girl", "girl"]])
    assert found.answers[0] not in (0, 1)


def test_misuse():
    with pytest.raises(InvalidInputError, match="four words"):
        complete_analogies(VECTORS, WORDS, [["boy", "girl"]])
    with pytest.raises(InvalidInputError, match="7 rows"):
        complete_analogies(VECTORS, WORDS[:3], [["boy", "girl", "father", "mother"]])
    with pytest.raises(InvalidInputError, match="categories"):
        complete_analogies(VECTORS, WORDS, [["boy", "girl", "father", "mother"]], categories=["a", "b"])
