# %% [markdown]
# # Genetics: a map of Europe from genes
#
# 1 387 people of the POPRES study (Novembre et al. 2008), described by their 20 largest genetic components. Each person has a country; the maps never see its longitude
# and latitude.
#
# Data: `wk.datasets.load_popres()` reads `popres_pca20.npz` from the folder named by `WINKEL_DATA`, or from the cache.

# %%
import numpy as np

import winkel as wk

people = wk.datasets.load_popres()
X = people.X * np.sqrt(people.extras["eigenvalues"]).astype(np.float64)
place = np.asarray(people.extras["lonlat"], dtype=np.float64)
print(X.shape, len(np.unique(people.y)), "countries")


# %%
def europe(Y):
    """Share of the variance of longitude and latitude that a linear fit on the map explains."""
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
    scores = ", ".join(f"{key} {trust[key].value:.2f}" for key in trust)
    print(f"{name}: explains {europe(Y):.2f} of geography; {scores}")

# %% [markdown]
# ## Do the small components contain more than noise?

# %%
for k in (2, 5, 10, 20):
    index = wk.graph.knn(np.ascontiguousarray(X[:, :k], dtype=np.float32), 10).knn_indices
    same = np.mean(people.y[index] == people.y[:, None])
    print(f"{k} components: {same:.0%} of a person's ten nearest are from the same country")

# %% [markdown]
# ## What can and cannot be trusted
#
# - Trust: the large axes. Two principal components explain 0.78 of geography, more than either map, and they are linear: distances on them mean what they say.
# - Trust the map of neighbours for neighbours: its trustworthiness is 0.88; two components have 0.77. But more components add noise, not geography: 53 % of
#   a person's ten nearest by two components are from the same country, but only 40 % by twenty. A map that keeps neighbours in twenty dimensions keeps that noise.
# - Do not trust: islands. A map of neighbours pulls people of one region together and tears the continuous gradient of Europe.
# - Do not trust: borders. People of neighbouring countries overlap in the data.
# - The sample is not Europe: some countries have few people in it and some have many, and maps give more room to where the sample is dense.
