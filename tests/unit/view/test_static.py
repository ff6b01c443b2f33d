"""The built page is the one of its source, and cannot break out of the HTML that it stands in."""

import hashlib
import re
from pathlib import Path

import pytest

from winkel.view.html.page import policy, program, style

WEB = Path(__file__).parents[3] / "web"


def source_hash():
    """The hash that web/vite.config.mjs writes into what it builds."""
    names = [
        path.relative_to(WEB).as_posix()
        for path in (WEB / "src").rglob("*")
        if path.suffix in (".ts", ".css")
    ]
    names += ["package.json", "package-lock.json", "tsconfig.json", "vite.config.mjs"]
    state = hashlib.sha256()
    for name in sorted(names):
        state.update(f"{name}\n".encode())
        state.update((WEB / name).read_bytes())
    return state.hexdigest()


@pytest.mark.parametrize("built", [program, style])
def test_the_built_page_matches_its_source(built):
    found = re.match(r"/\*! winkel explorer, built from ([0-9a-f]{64}) \*/\n", built())
    assert found is not None
    assert found[1] == source_hash(), "run `make web` and commit src/winkel/view/static"


def test_the_program_stays_inside_its_element():
    assert "</script" not in program().lower()
    assert "<!--" not in program()
    assert "</style" not in style().lower()


def test_the_style_and_the_program_name_no_address():
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", program() + style()))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, never fetched


def test_the_policy_allows_this_program_and_nothing_from_outside():
    rules = dict(rule.split(" ", 1) for rule in policy().split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["style-src"])
    assert "unsafe" not in policy()


def test_the_lock_file_names_no_registry():
    assert "resolved" not in (WEB / "package-lock.json").read_text()
