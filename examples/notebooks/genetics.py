# %% [markdown]
# # Genetics: a map of Europe from genes
#
# 1 387 people of the POPRES study (Novembre et al. 2008), by their 20 largest genetic components; each has a country, whose longitude and latitude the maps never
# see.
#
# Data: `wk.datasets.load_popres()` reads `popres_pca20.npz` from the folder that `WINKEL_DATA` names, or from the cache.

# %%
import numpy as np

import winkel as wk

people = wk.datasets.load_popres()
X = people.X * np.sqrt(people.extras["eigenvalues"]).astype(np.float64)
place = np.asarray(people.extras["lonlat"], dtype=np.float64)
print(X.shape, len(np.unique(people.y)), "countries")


# %%
def europe(Y):
    """How much of longitude and latitude a straight-line fit on the map explains."""
    A = np.column_stack([Y, np.ones(len(Y))])
    residual = place - A @ np.linalg.lstsq(A, place, rcond=None)[0]
    return 1 - float((residual**2).sum() / ((place - place.mean(axis=0)) ** 2).sum())


maps = {
    "two principal components": wk.quadratic.pca(X).to_textbook(),
    "wk.MDE()": wk.MDE(random_state=0).fit_transform(X),
    "wk.MDE(preserve='distances')": wk.MDE(preserve="distances", max_iter=60, random_state=0).fit_transform(
        X
    ),
}
for name, Y in maps.items():
    trust = wk.measure(X, Y, scores=["trustworthiness", "distance_correlation"]).scores
    told = ", ".join(f"{key} {trust[key].value:.2f}" for key in trust)
    print(f"{name}: explains {europe(Y):.2f} of geography; {told}")

# %% [markdown]
# ## Is there more than chance in the small components?

# %%
for k in (2, 5, 10, 20):
    index = wk.graph.knn(np.ascontiguousarray(X[:, :k], dtype=np.float32), 10).knn_indices
    same = np.mean(people.y[index] == people.y[:, None])
    print(f"of the ten nearest by {k} components {same:.0%} are of the own country")

# %% [markdown]
# ## What can and cannot be trusted
#
# - Trust: the large axes. Two principal components explain 0.78 of geography, more than either map, and they are linear: distances on them mean what they say.
# - Trust the map of neighbours for neighbours: its trustworthiness is 0.87 where two components have 0.77. But more components add noise, not geography: among
#   the ten nearest people by two components 53 % are of the own country, by twenty 40 %. Keeping neighbours in twenty dimensions keeps that noise.
# - Do not trust: islands. A map of neighbours pulls people of one region together and tears the continuous gradient of Europe.
# - Do not trust: borders. People of neighbouring countries overlap in the data.
# - The sample is not Europe: some countries are few people and some are many, and maps give room to where the sample is dense.
