# %% [markdown]
# # Counties: a map of demographics, and votes that it never saw
#
# 34 variables of the American Community Survey 2017 for US counties, prepared as in chapter 10 of Agrawal, Ali and Boyd (2021). The colour
# is the vote of 2016. The fit does not use it, so it can serve to judge the map.
#
# Data: `wk.datasets.load_counties()` reads `us_counties_acs2017.npz` from the folder named by `WINKEL_DATA`, or from the cache.

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
def predicted(Y):
    """Correlation of a county's vote share with the mean of the ten counties nearest to it."""
    index = wk.graph.knn(np.asarray(Y, dtype=np.float32), 10).knn_indices
    return np.corrcoef(votes[index].mean(axis=1), votes)[0, 1]


pca = wk.quadratic.pca(counties.X).to_textbook()
for name, Y in {"all variables": counties.X, "the map": mde.embedding_, "two components": pca}.items():
    print(f"vote predicted by the ten nearest counties in {name}: correlation {predicted(Y):.2f}")

# %%
print(wk.measure(counties.X, mde))

# %% [markdown]
# ## Are there kinds of counties?
#
# `wk.null_test` compares the clusters on the map with those on maps of data that has the same local dimension but no clusters.

# %%
print(wk.null_test(wk.MDE(random_state=0), counties.X))

# %% [markdown]
# ## What can and cannot be trusted
#
# - Trust: the gradient. The ten nearest counties on the map predict a county's vote nearly as well as the ten nearest in all 34 variables (correlation 0.83 and 0.87;
#   two principal components 0.66), although the map did not know the votes.
# - Trust single neighbours only in part: the map keeps a third of the fifteen nearest (0.37), no more than maps of data without clusters (0.40).
# - Do not trust any of the seven clusters: at least 17 of 19 maps of data without clusters show one as clear.
# - Do not trust how far apart regions are: the rank correlation of distances is 0.62, and 0.80 for two principal components.
# - Do not infer causes. That places with similar demographics vote alike says nothing about individual voters.
