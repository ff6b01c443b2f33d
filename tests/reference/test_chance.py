"""What `null_test` is for: clusters in a map of one Gaussian blob are chance, those of two separated blobs are not."""

import numpy as np
import pytest

import winkel as wk

pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def blobs(gap):
    X = np.random.default_rng(0).normal(size=(300, 10))
    X[:150] += gap
    return X


@pytest.mark.parametrize("null", ["arms", "gaussian", "permutation"])
def test_clusters_of_a_single_blob_are_chance(null):
    made_to_clump = wk.MDE(repulsive="log", max_iter=60)  # the default shows no clusters here at all
    found = wk.null_test(made_to_clump, blobs(0.0), null=null, min_clarity=0.3, random_state=0)
    assert len(found.clarity) > 1  # the map does show some
    assert found.chance.all()
    assert (found.point_p > 0.05).mean() > 0.9


@pytest.mark.parametrize("null", ["arms", "gaussian", "permutation"])
def test_two_separated_blobs_are_not_chance(null):
    X = blobs(4.0)
    found = wk.null_test(wk.MDE(max_iter=60), X, null=null, min_clarity=1.5, random_state=0)
    halves = [set(found.clusters[:150]), set(found.clusters[150:])]
    assert not halves[0] & halves[1]
    assert not found.chance.any()
    assert (found.cluster_p == 1 / 20).all()
