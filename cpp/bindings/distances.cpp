#include "bindings.hpp"
#include "checks.hpp"
#include "core/refine.hpp"
#include "core/select.hpp"
#include "core/sparse_distance.hpp"

namespace winkel {

namespace {

template <class T>
using Neighbors = std::pair<Out2<int32_t>, Out2<T>>;

// Fills n × k neighbour arrays: fill(i, selection) adds the candidates of row i, whose own number is
// origins[i] (or i itself where there is no such array, or -1 where rows are not among the points).
template <class T, class Origin, class Fill>
Neighbors<T> select_rows(int64_t n_rows, int64_t n_points, int64_t k, Threads threads, const Origin& origin,
                         const Fill& fill) {
  const int team = threads;
  require(k >= 1 && k <= std::max<int64_t>(n_points, 1), "k must lie between 1 and the number of points");
  require_index_range(n_points);
  auto [index, idx_] =
      new_array<Out2<int32_t>, int32_t>({static_cast<size_t>(n_rows), static_cast<size_t>(k)});
  auto [distance, dist_] = new_array<Out2<T>, T>({static_cast<size_t>(n_rows), static_cast<size_t>(k)});
  int32_t* idx = idx_;
  T* dist = dist_;
  const Unlocked unlocked;
  parallel_blocks(n_rows, 16, team, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      Selection selection(origin(i), n_points, k);
      fill(i, selection);
      selection.write(idx + i * k, dist + i * k);
    }
  });
  return {index, distance};
}

DistanceKind kind_of(int kind) {
  require(kind >= 0 && kind <= static_cast<int>(DistanceKind::correlation), "no such distance");
  return static_cast<DistanceKind>(kind);
}

DistanceKind sparse_kind_of(int kind) {
  require(kind == static_cast<int>(DistanceKind::euclidean) || kind == static_cast<int>(DistanceKind::cosine),
          "no such distance of sparse rows");
  return static_cast<DistanceKind>(kind);
}

// Origin of query row i: its number among the points, or -1.
int64_t origin_of(const Vec<const int64_t>& origins, int64_t i, int64_t n) {
  const int64_t o = origins.data()[i];
  return o >= 0 && o < n ? o : -1;
}

// Candidates lie all over memory: the first kilobyte of each is asked for before the first is looked at.
template <class T>
void prefetch_row(const T* row, int64_t n) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t k = 0; k < std::min(n, 16 * kLine); k += kLine) __builtin_prefetch(row + k);
}

template <class T>
Neighbors<T> refine(Mat<const T> q, Mat<const T> x, Vec<const int64_t> origins, Mat<const int32_t> candidates,
                    int kind, int64_t k, Threads threads) {
  const int64_t width = static_cast<int64_t>(candidates.shape(1)),
                n_features = static_cast<int64_t>(x.shape(1));
  const DistanceKind measure = kind_of(kind);
  require(q.shape(0) == candidates.shape(0) && q.shape(1) == x.shape(1) && origins.shape(0) == q.shape(0),
          "shapes do not fit");
  const auto origin = [&](int64_t i) { return origin_of(origins, i, rows_in(x)); };
  return select_rows<T>(rows_in(q), rows_in(x), k, threads, origin, [&](int64_t i, Selection& selection) {
    for (int64_t s = 0; s < width; ++s) {
      const int64_t j = candidates.data()[i * width + s];
      if (j >= 0 && j < rows_in(x)) prefetch_row(x.data() + j * n_features, n_features);
    }
    for (int64_t s = 0; s < width; ++s) {
      const int64_t j = candidates.data()[i * width + s];
      if (j < 0 || j >= rows_in(x) || j == origin(i)) continue;
      selection.add(kernel<true_distance<T>>()(measure, q.data() + i * n_features, x.data() + j * n_features,
                                               n_features),
                    j);
    }
  });
}

template <class T>
Neighbors<T> direct(Mat<const T> q, Mat<const T> x, Vec<const int64_t> origins, int kind, int64_t k,
                    Threads threads) {
  const int64_t n = rows_in(x), n_features = static_cast<int64_t>(x.shape(1));
  const DistanceKind measure = kind_of(kind);
  require(q.shape(1) == x.shape(1) && origins.shape(0) == q.shape(0), "shapes do not fit");
  const auto origin = [&](int64_t i) { return origin_of(origins, i, n); };
  return select_rows<T>(rows_in(q), n, k, threads, origin, [&](int64_t i, Selection& selection) {
    for (int64_t j = 0; j < n; ++j) {
      if (j % 4096 == 0) poll();
      if (j == origin(i)) continue;
      selection.add(kernel<true_distance<T>>()(measure, q.data() + i * n_features, x.data() + j * n_features,
                                               n_features),
                    j);
    }
  });
}

template <class T>
Neighbors<T> nearest_columns(Mat<const T> distances, Vec<const int64_t> origins, int64_t k, Threads threads) {
  const int64_t n = static_cast<int64_t>(distances.shape(1));
  require(origins.shape(0) == distances.shape(0), "shapes do not fit");
  const auto origin = [&](int64_t i) { return origin_of(origins, i, n); };
  return select_rows<T>(rows_in(distances), n, k, threads, origin, [&](int64_t i, Selection& selection) {
    for (int64_t j = 0; j < n; ++j)
      if (j != origin(i)) selection.add(static_cast<double>(distances.data()[i * n + j]), j);
  });
}

template <class T>
Neighbors<T> refine_sparse(Vec<const int64_t> indptr, Vec<const int32_t> indices, Vec<const T> values,
                           int64_t n_features, Mat<const int32_t> candidates, int kind, int64_t k,
                           Threads threads) {
  const SparseRows<T> x = sparse_rows<T>(indptr, indices, values, n_features);
  const DistanceKind measure = sparse_kind_of(kind);
  const int64_t width = static_cast<int64_t>(candidates.shape(1));
  require(rows_in(candidates) == x.n, "shapes do not fit");
  const auto own = [](int64_t i) { return i; };
  return select_rows<T>(x.n, x.n, k, threads, own, [&](int64_t i, Selection& selection) {
    for (int64_t s = 0; s < width; ++s) {
      const int64_t j = candidates.data()[i * width + s];
      if (j >= 0 && j < x.n && j != i) selection.add(sparse_distance(measure, x, i, x, j), j);
    }
  });
}

template <class T>
Neighbors<T> direct_sparse(Vec<const int64_t> indptr, Vec<const int32_t> indices, Vec<const T> values,
                           int64_t n_features, Vec<const int64_t> which, int kind, int64_t k,
                           Threads threads) {
  const SparseRows<T> x = sparse_rows<T>(indptr, indices, values, n_features);
  const DistanceKind measure = sparse_kind_of(kind);
  for (int64_t i = 0; i < rows_in(which); ++i)
    require(which.data()[i] >= 0 && which.data()[i] < x.n, "row out of range");
  const auto origin = [&](int64_t i) { return which.data()[i]; };
  return select_rows<T>(rows_in(which), x.n, k, threads, origin, [&](int64_t i, Selection& selection) {
    for (int64_t j = 0; j < x.n; ++j) {
      if (j % 4096 == 0) poll();
      if (j != origin(i)) selection.add(sparse_distance(measure, x, origin(i), x, j), j);
    }
  });
}

template <class T>
void bind_true_distances(nb::module_& m) {
  m.def("refine_neighbors", &refine<T>, nb::arg("q"), nb::arg("x"), nb::arg("origins"), nb::arg("candidates"),
        nb::arg("kind"), nb::arg("k"), nb::arg("threads"),
        "The k nearest of the candidates of each row by true distance, nearest first.");
  m.def("direct_neighbors", &direct<T>, nb::arg("q"), nb::arg("x"), nb::arg("origins"), nb::arg("kind"),
        nb::arg("k"), nb::arg("threads"),
        "The k nearest points of x for each row of q, by true distances to all of them.");
  m.def("nearest_columns", &nearest_columns<T>, nb::arg("distances"), nb::arg("origins"), nb::arg("k"),
        nb::arg("threads"),
        "The k smallest entries of each row of a matrix of distances, own column left out.");
  m.def("refine_neighbors_sparse", &refine_sparse<T>, nb::arg("indptr"), nb::arg("indices"),
        nb::arg("values"), nb::arg("n_features"), nb::arg("candidates"), nb::arg("kind"), nb::arg("k"),
        nb::arg("threads"), "refine_neighbors for a CSR matrix among its own rows.");
  m.def("direct_neighbors_sparse", &direct_sparse<T>, nb::arg("indptr"), nb::arg("indices"),
        nb::arg("values"), nb::arg("n_features"), nb::arg("which"), nb::arg("kind"), nb::arg("k"),
        nb::arg("threads"), "direct_neighbors for chosen rows of a CSR matrix.");
}

}  // namespace

void bind_distances(nb::module_& m) {
  bind_true_distances<float>(m);
  bind_true_distances<double>(m);
}

}  // namespace winkel
