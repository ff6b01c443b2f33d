"""The HTML of the explorer: the program, its style and the data in one text, and a policy that forbids everything else."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from .container import to_text


@cache
def static_text(name: str) -> str:
    """The content of a file of `winkel/view/static`."""
    return (files("winkel.view") / "static" / name).read_text(encoding="utf-8")


def program() -> str:
    """The program of the page, a JavaScript module."""
    return static_text("explorer.js")


def style() -> str:
    """The style of the page."""
    return static_text("explorer.css")


def policy(connect: str = "'none'") -> str:
    """The content-security policy of the page: it allows this program, this style and pictures that the program makes, and nothing else.

    `connect` says from where data may be fetched: from nowhere for a file, from "'self'" for a page that a local server sends.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_digest(program())}'",
            f"style-src '{_digest(style())}'",
            "img-src data: blob:",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def page(title: str, parts: Mapping[str, bytes] | None) -> str:
    """The whole page. With `parts`, the data is in the page; without, the page fetches `data/NAME` relative to its own address."""
    inside = parts is not None
    blocks = [
        f'<script type="application/octet-stream" data-part="{html.escape(name)}">{to_text(data)}</script>'
        for name, data in (parts or {}).items()
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy() if inside else policy(chr(39) + "self" + chr(39))}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{style()}</style>",
            "</head>",
            "<body>",
            f'<div id="winkel-explorer" data-source="{"inside" if inside else "data/"}"></div>',
            "<noscript>This page draws a map of data and needs JavaScript.</noscript>",
            *blocks,
            f'<script type="module">{program()}</script>',
            "</body>",
            "</html>",
            "",
        ]
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
