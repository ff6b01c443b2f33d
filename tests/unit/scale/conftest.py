"""A small Dask cluster for the tests of work by shards."""

from __future__ import annotations

import os
import warnings

import pytest


@pytest.fixture
def cluster():
    """Makes a client of a small cluster; closed in the end."""
    distributed = pytest.importorskip("distributed")
    opened, environment = [], dict(os.environ)

    def make(n_workers, *, processes=False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=processes,
                dashboard_address=None,
                memory_limit=None,
            )
            client = distributed.Client(made)
        opened.extend([client, made])
        return client

    yield make
    for each in opened:
        each.close()
    os.environ.clear()  # starting worker processes sets numbers of threads, which other tests look at
    os.environ.update(environment)
