"""Formulas of the pages of methods, which are plain text in docs/, as HTML for the site (tools/site.py)."""

from __future__ import annotations

import html
import re


def typeset(markdown: str) -> str:
    """Subscripts and superscripts of formulas as HTML, which needs no program in the page: `x_i`, `R^d`, `Σ_(i,j)∈E`.

    Formulas in the sources are plain text, which can be read as it is. Those of a section "The mathematics" that stand by
    themselves (indented) become blocks. Code is left alone.
    """
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.S | re.M)
    inside, made = False, []
    for part in parts:
        if part.startswith("```"):
            made.append(part)
            continue
        for block in re.split(r"(\n{2,})", part):
            heading = re.search(r"^## (.*)", block, re.M)
            inside = heading[1] == "The mathematics" if heading else inside
            if inside and re.fullmatch(r"(?:    .*\n?)+", block):
                lines = [
                    re.sub(r" {2,}", "&emsp; ", html.escape(line[4:], quote=False))
                    for line in block.splitlines()
                ]
                text = "".join(f"<div>{_scripts(line)}</div>" for line in lines)
                text = re.sub("`([^`]*)`", r"<code>\1</code>", text)
                made.append(f'<div class="math">{text}</div>')
            elif block.startswith(("#", "    ")):
                made.append(block)
            else:
                made.append(_scripts(block))
    return "".join(made)


def _scripts(text: str) -> str:
    """Text with its subscripts and superscripts as HTML, but for what stands in `code` or is the target of a link."""
    parts = re.split(r"(`[^`]*`|\]\([^)]*\))", text)
    for k, part in enumerate(parts[::2]):
        part = re.sub(r"∇_(\w)_(\w)", r"∇<sub>\1<sub>\2</sub></sub>", part)
        # One letter or sign, and an index of at most three letters that may say over what a sum runs.
        index = r"\(\w(?:,\w)*\)(?:∈\w)?|[^\W_²³]{1,3}(?:≠\w)?(?![^\W²³])"
        part = re.sub(rf"(?<![^\W_][^\W_])([^\W\d_]|[∇Σ²‖)\]])_({index})", r"\1<sub>\2</sub>", part)
        part = re.sub(
            r"(?<=\S)\^(?:\{([^}]*)\}|\(([^()]*)\)|(−?\w+))",
            lambda m: f"<sup>{m[1] or m[2] or m[3]}</sup>",
            part,
        )
        parts[2 * k] = part
    return "".join(parts)
