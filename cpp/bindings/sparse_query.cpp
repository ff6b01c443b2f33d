#include "core/sparse_query.hpp"

#include "bindings.hpp"
#include "checks.hpp"

namespace winkel {

namespace {

// A CSR matrix as Python gives it.
template <class T>
using Csr = std::tuple<Vec<const int64_t>, Vec<const int32_t>, Vec<const T>>;

template <class T>
SparseRows<T> rows_of(const Csr<T>& matrix, int64_t n_features) {
  const auto& [indptr, indices, values] = matrix;
  return sparse_rows<T>(indptr, indices, values, n_features);
}

template <class T>
std::pair<Out2<int32_t>, Out2<T>> query(Csr<T> q_csr, Csr<T> x_csr, int64_t n_features, int kind, int64_t k,
                                        Threads threads) {
  const SparseRows<T> q = rows_of<T>(q_csr, n_features), x = rows_of<T>(x_csr, n_features);
  if (k < 1 || k > x.n) throw std::invalid_argument("k must lie between 1 and the number of points");
  require(kind == static_cast<int>(DistanceKind::euclidean) || kind == static_cast<int>(DistanceKind::cosine),
          "sparse rows are compared by euclidean or cosine distance");
  const auto measure = static_cast<DistanceKind>(kind);
  const size_t rows = static_cast<size_t>(q.n), columns = static_cast<size_t>(k);
  auto [index, index_] = new_array<Out2<int32_t>, int32_t>({rows, columns});
  auto [distance, distance_] = new_array<Out2<T>, T>({rows, columns});
  int32_t* to_index = index_;
  T* to_distance = distance_;
  const Unlocked unlocked;
  SparseQuery<T>(measure, q, x, k).run(to_index, to_distance, threads);
  return {index, distance};
}

template <class T>
void bind_query(nb::module_& m) {
  m.def("query_sparse", &query<T>, nb::arg("q"), nb::arg("x"), nb::arg("n_features"), nb::arg("kind"),
        nb::arg("k"), nb::arg("threads"),
        "The k nearest rows of x for each row of q; both CSR, given as (indptr, indices, values).");
}

}  // namespace

void bind_sparse_query(nb::module_& m) {
  bind_query<float>(m);
  bind_query<double>(m);
}

}  // namespace winkel
