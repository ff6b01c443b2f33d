#include "bindings.hpp"
#include "core/exact_knn.hpp"
#include "core/nndescent.hpp"
#include "core/refine.hpp"
#include "core/select.hpp"
#include "core/sparse_knn.hpp"

namespace winkel {

namespace {

using Matrix32 = Mat<const float>;
using Vector32 = Vec<const float>;
using Neighbors32 = std::pair<Out2<int32_t>, Out2<float>>;

Points points_of(const Matrix32& x, const Vector32& norm, int metric) {
  if (norm.shape(0) != x.shape(0)) throw std::invalid_argument("norm must have one entry a row");
  if (x.shape(0) >= (size_t{1} << 31)) throw std::invalid_argument("at most 2**31 - 1 rows");
  return {x.data(), norm.data(), static_cast<int64_t>(x.shape(0)), static_cast<int>(x.shape(1)),
          static_cast<MetricKind>(metric)};
}

// Lists as arrays; row i counts indices from i (its own search) or from -1 (queries). Missing entries are -1.
Neighbors32 to_arrays(const BoundedLists& lists, int64_t n_rows, int64_t n_points, bool own) {
  const size_t width = static_cast<size_t>(lists.width());
  auto [index, idx] = new_array<Out2<int32_t>, int32_t>({static_cast<size_t>(n_rows), width});
  auto [distance, dist] = new_array<Out2<float>, float>({static_cast<size_t>(n_rows), width});
  for (int64_t i = 0; i < n_rows; ++i) {
    for (size_t s = 0; s < width; ++s) {
      const int64_t key = lists.row(i)[s];
      const bool empty = key == BoundedLists::kEmpty;
      idx[static_cast<size_t>(i) * width + s] = empty ? -1 : NeighborKey::index(key, own ? i : -1, n_points);
      dist[static_cast<size_t>(i) * width + s] =
          empty ? std::numeric_limits<float>::infinity() : NeighborKey::distance(key);
    }
  }
  return {index, distance};
}

struct Exact {
  Exact(Matrix32 x, Vector32 norm, int metric, int width)
      : data(x), norms(norm), search(points_of(x, norm, metric), width) {}
  Matrix32 data;
  Vector32 norms;
  ExactSearch search;
};

NeighborDescent new_descent(Matrix32 x, Vector32 norm, Matrix32 sketch, int metric, int width,
                            int n_candidates, int64_t leaf_size, uint64_t seed, int threads) {
  const Points points = points_of(x, norm, metric);
  if (sketch.shape(0) != x.shape(0)) throw std::invalid_argument("sketch must have one row a point");
  nb::gil_scoped_release release;
  return {points, sketch.data(), static_cast<int>(sketch.shape(1)), width, n_candidates, leaf_size,
          seed,   threads};
}

template <class T>
using Neighbors = std::pair<Out2<int32_t>, Out2<T>>;

// Fills n × k neighbour arrays: fill(i, selection) adds the candidates of row i, whose own number is
// origins[i] (or i itself where there is no such array, or -1 where rows are not among the points).
template <class T, class Origin, class Fill>
Neighbors<T> select_rows(int64_t n_rows, int64_t n_points, int64_t k, int threads, const Origin& origin,
                         const Fill& fill) {
  auto [index, idx_] =
      new_array<Out2<int32_t>, int32_t>({static_cast<size_t>(n_rows), static_cast<size_t>(k)});
  auto [distance, dist_] = new_array<Out2<T>, T>({static_cast<size_t>(n_rows), static_cast<size_t>(k)});
  int32_t* idx = idx_;
  T* dist = dist_;
  nb::gil_scoped_release release;
  parallel_blocks(n_rows, 16, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      Selection selection(origin(i), n_points);
      fill(i, selection);
      selection.write(k, idx + i * k, dist + i * k);
    }
  });
  return {index, distance};
}

template <class Array>
int64_t rows_in(const Array& x) {
  return static_cast<int64_t>(x.shape(0));
}

// Origin of query row i: its number among the points, or -1.
int64_t origin_of(const Vec<const int64_t>& origins, int64_t i, int64_t n) {
  const int64_t o = origins.data()[i];
  return o >= 0 && o < n ? o : -1;
}

template <class T>
Neighbors<T> refine(Mat<const T> q, Mat<const T> x, Vec<const int64_t> origins, Mat<const int32_t> candidates,
                    int kind, int64_t k, int threads) {
  const int64_t width = static_cast<int64_t>(candidates.shape(1)),
                n_features = static_cast<int64_t>(x.shape(1));
  if (q.shape(0) != candidates.shape(0) || q.shape(1) != x.shape(1) || origins.shape(0) != q.shape(0))
    throw std::invalid_argument("shapes do not fit");
  const auto origin = [&](int64_t i) { return origin_of(origins, i, rows_in(x)); };
  return select_rows<T>(rows_in(q), rows_in(x), k, threads, origin, [&](int64_t i, Selection& selection) {
    for (int64_t s = 0; s < width; ++s) {
      const int64_t j = candidates.data()[i * width + s];
      if (j < 0 || j >= rows_in(x) || j == origin(i)) continue;
      selection.add(true_distance(static_cast<DistanceKind>(kind), q.data() + i * n_features,
                                  x.data() + j * n_features, n_features),
                    j);
    }
  });
}

template <class T>
Neighbors<T> direct(Mat<const T> q, Mat<const T> x, Vec<const int64_t> origins, int kind, int64_t k,
                    int threads) {
  const int64_t n = rows_in(x), n_features = static_cast<int64_t>(x.shape(1));
  if (q.shape(1) != x.shape(1) || origins.shape(0) != q.shape(0))
    throw std::invalid_argument("shapes do not fit");
  const auto origin = [&](int64_t i) { return origin_of(origins, i, n); };
  return select_rows<T>(rows_in(q), n, k, threads, origin, [&](int64_t i, Selection& selection) {
    for (int64_t j = 0; j < n; ++j) {
      if (j == origin(i)) continue;
      selection.add(true_distance(static_cast<DistanceKind>(kind), q.data() + i * n_features,
                                  x.data() + j * n_features, n_features),
                    j);
    }
  });
}

template <class T>
Neighbors<T> nearest_columns(Mat<const T> distances, Vec<const int64_t> origins, int64_t k, int threads) {
  const int64_t n = static_cast<int64_t>(distances.shape(1));
  if (origins.shape(0) != distances.shape(0)) throw std::invalid_argument("shapes do not fit");
  const auto origin = [&](int64_t i) { return origin_of(origins, i, n); };
  return select_rows<T>(rows_in(distances), n, k, threads, origin, [&](int64_t i, Selection& selection) {
    for (int64_t j = 0; j < n; ++j)
      if (j != origin(i)) selection.add(static_cast<double>(distances.data()[i * n + j]), j);
  });
}

template <class T>
SparseRows<T> sparse_rows(const Vec<const int64_t>& indptr, const Vec<const int32_t>& indices,
                          const Vec<const T>& values, int64_t n_features) {
  const int64_t n = rows_in(indptr) - 1, nnz = rows_in(indices);
  if (n < 0 || rows_in(values) != nnz || indptr.data()[0] != 0 || indptr.data()[n] != nnz)
    throw std::invalid_argument("not a CSR matrix");
  for (int64_t i = 0; i < n; ++i)
    if (indptr.data()[i] > indptr.data()[i + 1]) throw std::invalid_argument("not a CSR matrix");
  for (int64_t k = 0; k < nnz; ++k)
    if (indices.data()[k] < 0 || indices.data()[k] >= n_features)
      throw std::invalid_argument("column out of range");
  return {indptr.data(), indices.data(), values.data(), n, n_features};
}

// Exact search of sparse points among themselves, a range of rows at a time.
struct SparseSearch {
  SparseSearch(Vec<const int64_t> ptr, Vec<const int32_t> cols, Vec<const float> vals, int64_t n_features,
               Vec<const float> norms, int width)
      : indptr(ptr),
        indices(cols),
        values(vals),
        norm(norms),
        rows(sparse_rows<float>(indptr, indices, values, n_features)),
        lists(rows.n, width) {
    if (rows_in(norm) != rows.n) throw std::invalid_argument("norm must have one entry a row");
  }
  Vec<const int64_t> indptr;
  Vec<const int32_t> indices;
  Vec<const float> values, norm;
  SparseRows<float> rows;
  BoundedLists lists;
};

template <class T>
Neighbors<T> refine_sparse(Vec<const int64_t> indptr, Vec<const int32_t> indices, Vec<const T> values,
                           int64_t n_features, Mat<const int32_t> candidates, int kind, int64_t k,
                           int threads) {
  const SparseRows<T> x = sparse_rows<T>(indptr, indices, values, n_features);
  const int64_t width = static_cast<int64_t>(candidates.shape(1));
  if (rows_in(candidates) != x.n) throw std::invalid_argument("shapes do not fit");
  const auto own = [](int64_t i) { return i; };
  return select_rows<T>(x.n, x.n, k, threads, own, [&](int64_t i, Selection& selection) {
    for (int64_t s = 0; s < width; ++s) {
      const int64_t j = candidates.data()[i * width + s];
      if (j >= 0 && j < x.n && j != i)
        selection.add(sparse_distance(static_cast<DistanceKind>(kind), x, i, x, j), j);
    }
  });
}

template <class T>
Neighbors<T> direct_sparse(Vec<const int64_t> indptr, Vec<const int32_t> indices, Vec<const T> values,
                           int64_t n_features, Vec<const int64_t> which, int kind, int64_t k, int threads) {
  const SparseRows<T> x = sparse_rows<T>(indptr, indices, values, n_features);
  for (int64_t i = 0; i < rows_in(which); ++i)
    if (which.data()[i] < 0 || which.data()[i] >= x.n) throw std::invalid_argument("row out of range");
  const auto origin = [&](int64_t i) { return which.data()[i]; };
  return select_rows<T>(rows_in(which), x.n, k, threads, origin, [&](int64_t i, Selection& selection) {
    for (int64_t j = 0; j < x.n; ++j)
      if (j != origin(i))
        selection.add(sparse_distance(static_cast<DistanceKind>(kind), x, origin(i), x, j), j);
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

void bind_knn(nb::module_& m) {
  nb::class_<Exact>(m, "ExactSearch", "Exact neighbours among n points, task by task.")
      .def(nb::init<Matrix32, Vector32, int, int>(), nb::arg("x"), nb::arg("norm"), nb::arg("metric"),
           nb::arg("width"))
      .def_prop_ro("n_tasks", [](const Exact& e) { return e.search.n_tasks(); })
      .def(
          "run",
          [](Exact& e, int64_t begin, int64_t end, int threads) {
            nb::gil_scoped_release release;
            e.search.run(begin, end, threads);
          },
          nb::arg("begin"), nb::arg("end"), nb::arg("threads"), "Works through tasks begin, ..., end - 1.")
      .def("result", [](const Exact& e) {
        const int64_t n = static_cast<int64_t>(e.data.shape(0));
        return to_arrays(e.search.lists(), n, n, true);
      });
  nb::class_<NeighborDescent>(m, "NeighborDescent", "Approximate neighbours among n points, round by round.")
      .def(nb::new_(&new_descent), nb::arg("x"), nb::arg("norm"), nb::arg("sketch"), nb::arg("metric"),
           nb::arg("width"), nb::arg("n_candidates"), nb::arg("leaf_size"), nb::arg("seed"),
           nb::arg("threads"))
      .def(
          "grow_tree",
          [](NeighborDescent& d, int threads) {
            nb::gil_scoped_release release;
            return d.grow_tree(threads);
          },
          nb::arg("threads"),
          "Compares all pairs within the leaves of one more tree; how many entries changed.")
      .def(
          "round",
          [](NeighborDescent& d, int threads) {
            nb::gil_scoped_release release;
            return d.round(threads);
          },
          nb::arg("threads"), "One round of nn-descent; how many list entries changed.")
      .def(
          "peek",
          [](const NeighborDescent& d, Vec<const int64_t> rows) {
            auto [index, idx] = new_array<Out2<int32_t>, int32_t>({rows.shape(0), d.width()});
            for (size_t r = 0; r < rows.shape(0); ++r) {
              if (rows.data()[r] < 0 || rows.data()[r] >= static_cast<int64_t>(d.size()))
                throw std::invalid_argument("row out of range");
              d.peek(rows.data()[r], idx + r * d.width());
            }
            return index;
          },
          nb::arg("rows"), "Present neighbours of some rows.");
  m.def(
      "search_queries",
      [](Matrix32 q, Vector32 q_norm, Matrix32 x, Vector32 x_norm, int metric, int width, int threads) {
        if (q.shape(1) != x.shape(1)) throw std::invalid_argument("queries and points differ in features");
        const Points queries = points_of(q, q_norm, metric), points = points_of(x, x_norm, metric);
        BoundedLists lists(queries.n, width);
        {
          nb::gil_scoped_release release;
          search_queries(queries, points, lists, threads);
        }
        return to_arrays(lists, queries.n, points.n, false);
      },
      nb::arg("q"), nb::arg("q_norm"), nb::arg("x"), nb::arg("x_norm"), nb::arg("metric"), nb::arg("width"),
      nb::arg("threads"), "Nearest points of x for each row of q, by the search distance.");
  nb::class_<SparseSearch>(m, "SparseSearch",
                           "Exact neighbours among sparse points, a range of rows at a time.")
      .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const float>, int64_t, Vec<const float>,
                    int>(),
           nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("n_features"), nb::arg("norm"),
           nb::arg("width"))
      .def(
          "run",
          [](SparseSearch& s, int64_t first, int64_t last, int threads) {
            if (first < 0 || last > s.rows.n) throw std::invalid_argument("row out of range");
            nb::gil_scoped_release release;
            search_sparse(s.rows, s.norm.data(), s.rows, s.norm.data(), true, first, last, s.lists, threads);
          },
          nb::arg("first"), nb::arg("last"), nb::arg("threads"), "Searches for rows first, ..., last - 1.")
      .def("result", [](const SparseSearch& s) { return to_arrays(s.lists, s.rows.n, s.rows.n, true); });
  m.def(
      "project",
      [](Matrix32 x, Matrix32 directions, int threads) {
        if (x.shape(1) != directions.shape(0) || directions.shape(1) != kProjected)
          throw std::invalid_argument("shapes do not fit");
        auto [array, out_] = new_array<Out2<float>, float>({x.shape(0), directions.shape(1)});
        float* out = out_;
        nb::gil_scoped_release release;
        const int64_t n_features = static_cast<int64_t>(x.shape(1));
        parallel_blocks(rows_in(x), 256, threads, [&](int64_t lo, int64_t hi) {
          project_block(x.data() + lo * n_features, hi - lo, n_features, directions.data(),
                        out + lo * kProjected);
        });
        return array;
      },
      nb::arg("x"), nb::arg("directions"), nb::arg("threads"), "The product of x and 64 directions.");
  bind_true_distances<float>(m);
  bind_true_distances<double>(m);
}

}  // namespace winkel
