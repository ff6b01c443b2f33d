#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of winkel: kernels that know no Python objects but arrays.";
  winkel::bind_tabulated(m);
  winkel::bind_knn(m);
  winkel::bind_lvm(m);
  winkel::bind_distances(m);
  winkel::bind_graph(m);
  winkel::bind_dense(m);
  winkel::bind_metrics(m);
  winkel::bind_pairs(m);
  winkel::bind_place(m);
  winkel::bind_products(m);
  winkel::bind_field(m);
  winkel::bind_forces(m);
  winkel::bind_ranks(m);
  winkel::bind_rng(m);
  winkel::bind_sampling(m);
  winkel::bind_simplex(m);
  winkel::bind_sparse_query(m);
  winkel::bind_spline_grid(m);
}
