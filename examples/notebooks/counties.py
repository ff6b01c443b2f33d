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
print(wk.null_test(wk.MDE(random_state=0), counties.X, n_repeats=99))

# %% [markdown]
# ## What can and cannot be trusted
#
# - Trust: the gradient. A county's vote is told by its ten nearest on the map nearly as well as by its ten nearest in all 34 figures (correlation 0.83 and 0.87;
#   two principal components 0.66), and the map did not know the votes.
# - Trust single neighbours in part: a third of the fifteen nearest are kept (0.36), hardly more than in maps of data without any structure (0.35).
# - Trust four of the six clusters to be there: each is clearer than whatever stands out in 99 maps of data of the same shape without clusters (corrected p of
#   0.02). Do not trust the other two, which hold half of the counties: 36 and 13 of those 99 maps show clusters as clear.
# - Do not read how far apart regions lie: the rank correlation of distances is 0.63, and 0.80 for two principal components.
# - Do not read cause. That places of one demography vote alike says nothing about single voters.
