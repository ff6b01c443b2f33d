"""Formulas on the site: indices are lowered and raised, names in code stay as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from typeset import typeset


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "x_i and d_ij = ‖x_i − x_j‖₂",
            "x<sub>i</sub> and d<sub>ij</sub> = ‖x<sub>i</sub> − x<sub>j</sub>‖₂",
        ),
        ("σ_i² ∈ R^d", "σ<sub>i</sub>² ∈ R<sup>d</sup>"),
        ("n^{4/3}, R^(n×m), (r_i)^s", "n<sup>4/3</sup>, R<sup>n×m</sup>, (r<sub>i</sub>)<sup>s</sup>"),
        ("Σ_i≠j, Σ_(i,j)∈E f_ij", "Σ<sub>i≠j</sub>, Σ<sub>(i,j)∈E</sub> f<sub>ij</sub>"),
        ("∇_y_i dk_y(‖·‖²_F)", "∇<sub>y<sub>i</sub></sub> dk<sub>y</sub>(‖·‖²<sub>F</sub>)"),
        ("`x_i`, random_state, n_neighbors", "`x_i`, random_state, n_neighbors"),
        ("[why](#a_b) x_1", "[why](#a_b) x<sub>1</sub>"),
        ("## x_i", "## x_i"),
        ("```python\nx_i = 1\n```", "```python\nx_i = 1\n```"),
        ("    x_i = shell", "    x_i = shell"),
    ],
)
def test_indices(text, expected):
    assert typeset(text) == expected


def test_formulas_by_themselves_become_blocks():
    told = typeset(
        "## The mathematics\n\nso\n\n    min    E(x_i)\n    with   w_ij > 0 `a_b`\n\n## More\n\n    x_i\n"
    )
    block = (
        '<div class="math"><div>min&emsp; E(x<sub>i</sub>)</div>'
        "<div>with&emsp; w<sub>ij</sub> &gt; 0 <code>a_b</code></div></div>"
    )
    assert told == f"## The mathematics\n\nso\n\n{block}\n\n## More\n\n    x_i\n"
