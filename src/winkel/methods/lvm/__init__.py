"""The latent variable model of Saul (2020): a mean and a variance for every item.

Graph ── neighborhood ──> Neighborhood      who is similar, and on what length scale
      ── coarsening ────> Family, …         who is dissimilar: blocks of items and of their landmarks
      ── model ─────────> Model             weights and pairs in the compiled core; likelihood and EM steps
      ── fitting ───────> Embedding         spectral start, EM
new rows ── placement ──> means and variances, each row by itself
"""
