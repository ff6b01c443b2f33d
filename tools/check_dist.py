"""Look at what `make dist` made: size, contents, licence, version; and at the conda recipe. An error names what is wrong.

python tools/check_dist.py dist [--release]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

LARGEST = 3_000_000  # bytes of a wheel
ROOT = Path(__file__).parents[1]
VERSION = re.search(r'__version__ = "(.*)"', (ROOT / "src/winkel/__init__.py").read_text())[1]


def check(folder: Path, release: bool) -> list[str]:
    """What is wrong with the distributions in a folder."""
    wheels, sources = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        return [
            f"{folder} must hold one wheel and one source distribution; it holds {len(wheels)} and {len(sources)}."
        ]
    wrong = []
    wheel = wheels[0]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    with tarfile.open(sources[0]) as archive:
        kept = [name.partition("/")[2] for name in archive.getnames()]
    if wheel.stat().st_size > LARGEST:
        wrong.append(
            f"{wheel.name} has {wheel.stat().st_size / 1e6:.2f} MB; at most {LARGEST / 1e6:.0f} are allowed."
        )
    if VERSION not in wheel.name or VERSION not in sources[0].name:
        wrong.append(
            f"{wheel.name} and {sources[0].name} must bear the version {VERSION} of winkel/__init__.py."
        )
    needed = ("winkel/py.typed", "winkel/_core.pyi", "winkel/__init__.pyi")
    wrong += [f"{name} is not in {wheel.name}." for name in needed if name not in names]
    if not any(re.match(r"winkel/_core.*\.(so|pyd)$", name) for name in names):
        wrong.append(f"{wheel.name} has no compiled core.")
    for licence in ("LICENSE", *(path.name for path in (ROOT / "licenses").glob("*.txt"))):
        if not any(name.endswith(f"/{licence}") for name in names):
            wrong.append(f"{wheel.name} lacks the licence {licence}.")
    bundled = json.loads((ROOT / "web/package.json").read_text()).get("dependencies", {})
    wrong += [
        f"the page bundles {name}, whose licence must be in licenses/{name}.txt."
        for name in bundled
        if not (ROOT / f"licenses/{name}.txt").is_file()
    ]
    wrong += [
        f"{name} does not belong in a wheel."
        for name in names
        if name.startswith(("tests/", "docs/", "cpp/"))
    ]
    wrong += [
        f"{name} is not in {sources[0].name}."
        for name in ("LICENSE", "CMakeLists.txt", "pyproject.toml")
        if name not in kept
    ]
    if release and f"## {VERSION} (unreleased)" in (ROOT / "CHANGELOG.md").read_text():
        wrong.append(f"CHANGELOG.md still calls {VERSION} unreleased: write the date.")
    print(
        f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(names)} files; {sources[0].name}: {sources[0].stat().st_size / 1e6:.2f} MB"
    )
    return wrong


def audit(wheel: Path) -> list[str]:
    """What is wrong with the wheel by the tools of others: symbols of the system's libraries, and Python's stable interface."""
    wrong = []
    if sys.platform.startswith("linux"):
        shown = _run("auditwheel", "show", str(wheel))
        tag = re.search(r'platform tag: "(\w+)"', shown.stdout)
        print(f"auditwheel: {tag[1] if tag else 'no tag'} as built here; cibuildwheel builds for manylinux")
        if shown.returncode or not tag:
            wrong.append(f"auditwheel finds no platform for {wheel.name}: {shown.stdout}{shown.stderr}")
    if "-abi3-" in wheel.name:
        shown = _run("abi3audit", "--strict", "--report", str(wheel))
        print(f"abi3audit: {'no violation' if not shown.returncode else 'violations'}")
        if shown.returncode:
            wrong.append(
                f"abi3audit: {wheel.name} leaves Python's stable interface: {shown.stdout}{shown.stderr}"
            )
    return wrong


def check_recipe() -> list[str]:
    """Where the conda recipe does not render, or says something else than the package."""
    import tomllib

    import rattler_build

    try:
        (variant,) = rattler_build.Stage0Recipe.from_file(ROOT / "recipe/recipe.yaml").render()
    except rattler_build.RattlerBuildError as error:
        return [f"recipe/recipe.yaml does not render: {error}"]
    recipe = variant.recipe
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {f"python{project['project']['requires-python']}", *project["project"]["dependencies"]}
    run = {str(need).replace(" ", "") for need in recipe.requirements.run}
    host = {str(need).replace(" ", "") for need in recipe.requirements.host}
    print(f"recipe: renders winkel {recipe.package.version}")
    wrong = []
    if str(recipe.package.version) != VERSION:
        wrong.append(f"recipe/recipe.yaml is of version {recipe.package.version}, the package of {VERSION}.")
    if run != needed:
        wrong.append(f"recipe/recipe.yaml needs {sorted(run)} to run, pyproject.toml {sorted(needed)}.")
    if not set(project["build-system"]["requires"]) <= host:
        wrong.append(
            f"recipe/recipe.yaml is built with {sorted(host)}, pyproject.toml with {project['build-system']['requires']}."
        )
    return wrong


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    found = check(folder, "--release" in sys.argv)
    found += check_recipe()
    found += [wrong for wheel in folder.glob("*.whl") for wrong in audit(wheel)]
    print("\n".join(found))
    sys.exit(bool(found))
