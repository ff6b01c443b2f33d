#include "bindings.hpp"
#include "core/isa.hpp"

namespace winkel {
void bind_shards(nb::module_& m);
}

namespace {

// Asked by the thread that waits for a kernel: a Python exception of a signal's handler, such as
// KeyboardInterrupt, ends the kernel. In threads other than Python's main one no signal is ever pending.
void look_for_signals() {
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

NB_MODULE(_core, m) {
  winkel::pool::prepare_to_throw();
  winkel::isa::level();  // a wrong WINKEL_ISA is an error of the import
  winkel::pool::hook().store(look_for_signals);
  m.doc() = "The compiled core of winkel: kernels that know no Python objects but arrays.";
  winkel::bind_algebra(m);
  winkel::bind_tabulated(m);
  winkel::bind_knn(m);
  winkel::bind_lvm(m);
  winkel::bind_distances(m);
  winkel::bind_graph(m);
  winkel::bind_isa(m);
  winkel::bind_dense(m);
  winkel::bind_metrics(m);
  winkel::bind_pairs(m);
  winkel::bind_pieces(m);
  winkel::bind_place(m);
  winkel::bind_products(m);
  winkel::bind_field(m);
  winkel::bind_forces(m);
  winkel::bind_ranks(m);
  winkel::bind_rng(m);
  winkel::bind_sampling(m);
  winkel::bind_shards(m);
  winkel::bind_simplex(m);
  winkel::bind_sparse_query(m);
  winkel::bind_spline_grid(m);
  winkel::bind_volume_grid(m);
}
