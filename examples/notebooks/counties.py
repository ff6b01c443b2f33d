# %% [markdown]
# # Counties: demography on a map, and votes that it never saw
#
# 34 figures of the American Community Survey 2017 for US counties, prepared as in chapter 10 of Agrawal, Ali and Boyd (2021). The colour,
# the vote of 2016, has no part in making the map, so it can judge it.
#
# Data: `wk.datasets.load_counties()` reads `us_counties_acs2017.npz` from the folder that `WINKEL_DATA` names, or from the cache.

# %%
import numpy as np

import winkel as wk

counties = wk.datasets.load_counties()
votes = np.asarray(counties.y, dtype=float)
print(counties.X.shape)

# %%
mde = wk.MDE(random_state=0).fit(counties.X)
wk.plot(mde, values=votes, title="US counties, colour: vote share")


# %%
def told(Y):
    """Correlation of a county's vote share with the mean of its ten nearest others."""
    index = wk.graph.knn(np.asarray(Y, dtype=np.float32), 10).knn_indices
    return np.corrcoef(votes[index].mean(axis=1), votes)[0, 1]


pca = wk.quadratic.pca(counties.X).to_textbook()
for name, Y in {"all figures": counties.X, "the map": mde.embedding_, "two components": pca}.items():
    print(f"vote told by the ten nearest in {name}: {told(Y):.2f}")

# %%
print(wk.measure(counties.X, mde))

# %% [markdown]
# ## Are there kinds of counties?
#
# Whatever looks like a cluster is tested against data of the same shape without clusters.

# %%
print(wk.null_test(wk.MDE(random_state=0), counties.X, n_repeats=19))

# %% [markdown]
# ## What can and cannot be trusted
#
# - Trust: the gradient. Counties near each other on the map vote alike nearly as much as counties near each other in all figures do, and the map did not know
#   the votes.
# - Trust: single neighbours in part; a third of the fifteen nearest are kept.
# - Do not trust: islands, unless the test above calls them real. Counties vary from one kind to the next without gaps for the most part.
# - Do not trust: cause. That places of one demography vote alike says nothing about single voters.
