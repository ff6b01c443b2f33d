"""What goes wrong on the way: a fit that ended early goes on to the same bytes, and what cannot go on says why."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError, MemoryLimitError, UnwritableFileError
from winkel.run import Run
from winkel.scale import cells, edges, fitting, lists
from winkel.scale.engine import LocalEngine
from winkel.scale.folder import Folder

X = (wk.datasets.load_digits().X[:700] + 0.1 * np.random.default_rng(0).random((700, 64))).astype(np.float32)
pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def fit(folder=None, source=X, client=None, **parameters):
    mde = wk.MDE(random_state=0, n_jobs=1, **{"max_iter": 8, **parameters})
    return wk.scale.fit(mde, source, folder=folder, client=client, rows_per_block=200)


@pytest.fixture(scope="module")
def expected():
    return fit().embedding_


class Fault(Exception):
    pass


# A task of every stage; approximate lists are made where exact ones are too many.
TASKS = [
    (cells, "_copy"),
    (cells, "_assign"),
    (cells, "_gather"),
    (lists, "_compare"),
    (edges, "_give"),
    (edges, "_pair"),
]


@pytest.mark.parametrize(("module", "name"), TASKS)
def test_a_fit_that_ended_early_goes_on_to_the_same_bytes(tmp_path, monkeypatch, expected, module, name):
    task = getattr(module, name)
    seen = []

    def failing(k, *arguments):
        seen.append(k)
        if k == 2 or (module is cells and name == "_copy"):
            raise Fault
        return task(k, *arguments)

    monkeypatch.setattr(module, name, failing)
    with pytest.raises(Fault):
        fit(tmp_path)
    done = [k for k in seen if k < 2]
    seen.clear()
    monkeypatch.setattr(module, name, lambda k, *arguments: seen.append(k) or task(k, *arguments))
    np.testing.assert_array_equal(fit(tmp_path).embedding_, expected)
    if name != "_copy":
        assert done == [0, 1]
        assert 0 not in seen  # what was done is not done again
        assert 2 in seen


def test_an_interrupted_optimization_goes_on_to_the_same_bytes(tmp_path, expected):
    class Stop:
        def __call__(self, info):
            if info.iteration == 3:
                raise KeyboardInterrupt

    stopped = fit(tmp_path, callbacks=[Stop()])
    assert stopped.status_.word == "interrupted"
    assert (tmp_path / "map.part").exists()
    np.testing.assert_array_equal(fit(tmp_path).embedding_, expected)
    assert not (tmp_path / "map.part").exists()


def test_a_record_that_was_cut_off_counts_as_missing(tmp_path):
    folder, calls = Folder(tmp_path), []
    (tmp_path / "s.jsonl").write_text(json.dumps({"item": 0, "result": 5}) + "\n" + '{"item": 1, "res')
    found = folder.stage("s", LocalEngine(), lambda k, _: calls.append(k) or 10 * k, 3, Run())
    assert (found, calls) == ([5, 10, 20], [1, 2])
    assert folder.stage("s", LocalEngine(), lambda k, _: 1 / 0, 3, Run()) == [5, 10, 20]


def test_the_folder_of_another_run_is_refused(tmp_path):
    fit(tmp_path)
    with pytest.raises(InvalidParameterError, match=r"belongs to another run, which differs in .*rows"):
        fit(tmp_path, source=X[:600])
    with pytest.raises(InvalidParameterError, match="lists"):
        fit(tmp_path, n_neighbors=9)


def test_a_full_disk_is_told_and_what_was_done_is_kept(tmp_path, monkeypatch, expected):
    write = Folder.write

    def full(self, name, first, rows):
        if name == "neighbors" and first > 0:
            raise UnwritableFileError(errno.ENOSPC, "no space left")
        write(self, name, first, rows)

    monkeypatch.setattr(Folder, "write", full)
    with pytest.raises(UnwritableFileError, match="no space"):
        fit(tmp_path)
    monkeypatch.undo()
    np.testing.assert_array_equal(fit(tmp_path).embedding_, expected)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own whose size can be set; for those who may mount one."""
    place = tmp_path / "disk"
    place.mkdir()

    def sized(kilobytes, *also):
        told = f"size={kilobytes}k"
        return subprocess.run(
            ["mount", "-t", "tmpfs", "-o", ",".join([*also, told]), "tmpfs", place], capture_output=True
        ).returncode

    if shutil.which("mount") is None or sized(64) != 0:
        pytest.skip("a small disk can be mounted by the administrator only")
    yield place, lambda kilobytes: sized(kilobytes, "remount")
    subprocess.run(["umount", "-l", place], check=True, capture_output=True)


def test_a_disk_that_fills_up_at_any_time_and_grows_leaves_the_same_bytes(small_disk, expected):
    place, resize = small_disk
    stopped, ended, told = set(), [], []
    for kilobytes in (100, 200, 300, 400, 500, 650, 800, 1000, 1200, 1500, 2000, 3000, 5000):
        assert resize(kilobytes) == 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of checkpoints that find no room
                ended.append(fit(place / "work").embedding_)
        except UnwritableFileError as error:
            told.append(str(error))
            stopped.add(len(list((place / "work").glob("*.json*"))))
            assert not list((place / "work").glob(".*.tmp"))
    assert all("No space left" in sentence for sentence in told)
    assert len(stopped) >= 4  # in so many stages
    for Y in ended:
        np.testing.assert_array_equal(Y, expected)
    assert ended


def test_a_disk_that_is_too_small_shows_before_the_work(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(UnwritableFileError, match="free some space"):
        fit(tmp_path)
    assert not list(tmp_path.glob("copy*"))


def parts_of(folder):
    for k in range(3):
        table = pa.table({f"c{j}": X[k * 200 : (k + 1) * 200, j] for j in range(X.shape[1])})
        pq.write_table(table, folder / f"part{k}.parquet", row_group_size=100, write_page_checksum=True)
    return str(folder / "part*.parquet")


@pytest.mark.parametrize("broken", [slice(4, 4000), slice(30_000, 30_001)])
def test_a_corrupt_shard_is_named_and_the_others_are_kept(tmp_path, monkeypatch, broken):
    pattern, part = parts_of(tmp_path), tmp_path / "part1.parquet"
    expected = fit(source=pattern).embedding_
    whole = part.read_bytes()
    damaged = bytearray(whole)
    damaged[broken] = bytes(255 - byte for byte in damaged[broken])
    part.write_bytes(bytes(damaged))
    with pytest.raises(InvalidInputError, match=r"part1\.parquet.*row group 0 cannot be read"):
        fit(tmp_path / "work", source=pattern)
    part.write_bytes(whole)  # the file is mended: only its shards are read again
    copy, seen = cells._copy, []
    monkeypatch.setattr(cells, "_copy", lambda k, *rest: seen.append(k) or copy(k, *rest))
    np.testing.assert_array_equal(fit(tmp_path / "work", source=pattern).embedding_, expected)
    assert seen == [2, 3]


def test_all_corrupt_shards_are_named(tmp_path):
    pattern = parts_of(tmp_path)
    for k in (1, 2):
        damaged = bytearray((tmp_path / f"part{k}.parquet").read_bytes())
        damaged[4:4000] = bytes(3996)
        (tmp_path / f"part{k}.parquet").write_bytes(bytes(damaged))
    with pytest.raises(InvalidInputError, match=r"2 shards cannot be used.*part1\.parquet.*part2\.parquet"):
        fit(tmp_path / "work", source=pattern)


def test_shards_are_read_again_when_what_is_subtracted_from_them_was_of_another_file(tmp_path, monkeypatch):
    pattern = parts_of(tmp_path)
    monkeypatch.setattr(cells, "_make_centres", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fit(tmp_path / "work", source=pattern)
    monkeypatch.undo()
    (tmp_path / "work" / "whole.json").unlink()
    table = pq.read_table(tmp_path / "part0.parquet")
    changed = pa.table({name: pa.array(table[name].to_numpy() + 1) for name in table.column_names})
    pq.write_table(changed, tmp_path / "part0.parquet", row_group_size=100)
    found = fit(tmp_path / "work", source=pattern).embedding_
    np.testing.assert_array_equal(found, fit(source=pattern).embedding_)


def test_files_that_changed_after_they_were_read_are_another_run(tmp_path):
    pattern = parts_of(tmp_path)
    fit(tmp_path / "work", source=pattern)
    os.utime(tmp_path / "part1.parquet", ns=(1, 1))
    with pytest.raises(InvalidParameterError, match="belongs to another run, which differs in rows"):
        fit(tmp_path / "work", source=pattern)


def test_too_little_memory_is_told_before_the_work(tmp_path):
    with pytest.raises(MemoryLimitError, match="map by shards of 700 rows"):
        fit(tmp_path / "work", max_memory="100MB")
    assert not (tmp_path / "work" / "copy.npy").exists()


def test_a_folder_for_the_time_of_the_fit_is_removed(monkeypatch, tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    monkeypatch.setattr(fitting.tempfile, "mkdtemp", lambda **_: str(made))
    fit()
    assert not made.exists()
