"""The package as a whole: what importing costs, that all public names are there, that stubs are true."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import winkel

HEAVY = ("matplotlib", "torch", "dask", "pyarrow", "sklearn", "scipy", "pandas", "polars", "tqdm", "pyamg")
PACKAGE = Path(winkel.__file__).parent
ROOT = Path(__file__).parents[2]


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_import_is_light():
    assert not loaded_after("import winkel") & {"numpy", *HEAVY}


def test_a_neighbour_graph_needs_no_heavy_package():
    code = "import winkel, numpy as np\nwinkel.graph.knn(np.eye(30), 3)"
    assert not loaded_after(code) & {"sklearn", "matplotlib", "torch", "dask", "pyarrow", "pandas", "polars"}


def test_a_fit_of_an_array_loads_nothing_large_beside_what_estimators_stand_on():
    fit = "import numpy as np, winkel\nwinkel.MDE(random_state=0, max_iter=2).fit(np.random.default_rng(0).random((2100, 5)))"
    large = {
        *HEAVY, "scipy.optimize", "scipy.stats", "scipy.interpolate", "scipy.ndimage", "scipy.signal", "scipy.spatial",
        "scipy.sparse.linalg", "scipy.sparse.csgraph", "sklearn.datasets", "sklearn.decomposition", "sklearn.manifold",
        "sklearn.metrics", "sklearn.neighbors", "asyncio", "http", "multiprocessing.pool", "xml",
        "winkel.cli", "winkel.scale", "winkel.scverse", "winkel.view",
    }  # fmt: skip
    assert not (loaded_after(fit) - loaded_after("import sklearn.base")) & large


def test_every_public_name_resolves():
    for name in winkel.__all__:
        assert getattr(winkel, name) is not None
    assert set(winkel.__all__) <= set(dir(winkel))


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        winkel.nothing  # noqa: B018


def test_the_stub_of_the_package_is_the_generated_one():
    command = [sys.executable, ROOT / "tools" / "package_stub.py"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    generated, kept = (declared(text) for text in (made, (PACKAGE / "__init__.pyi").read_text()))
    assert generated == kept, f"run `make stubs`: {generated ^ kept}"


def declared(stub: str) -> set[str]:
    """What a stub imports and declares, one name at a time."""
    found = set()
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom):
            found |= {
                f"{'.' * node.level}{node.module or ''} {name.name} {name.asname}" for name in node.names
            }
        else:
            found.add(ast.unparse(node))
    return found


def test_estimators_are_those_of_the_registry(monkeypatch):
    from winkel.estimators import registry

    own = [name for name in registry.names() if registry.entry(name).cls.__module__.startswith("winkel.")]
    assert {"MDE", "LVM", "TSM", "KDS", "KDSClustering", "AttractRepel"} <= set(own) <= set(winkel.__all__)
    assert all(getattr(winkel, name) is registry.entry(name).cls for name in own)
    # An estimator of the user's own is known to the command line and to `load`, but it is no part of this package.
    mine = registry.Entry(type("Mine", (), {}), ())
    monkeypatch.setitem(registry._KNOWN, "Mine", mine)
    assert "Mine" not in winkel.__all__
    assert not hasattr(winkel, "Mine")


def test_the_stub_of_the_core_is_the_generated_one(tmp_path):
    if importlib.util.find_spec("nanobind") is None:
        pytest.skip("nanobind is not installed, so the stub cannot be generated")
    path = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "winkel._core", "-o", str(path)]
    subprocess.run(command, check=True)
    generated, kept = ast.parse(path.read_text()), ast.parse((PACKAGE / "_core.pyi").read_text())
    assert ast.dump(generated) == ast.dump(kept), "run `make stubs`"


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()
