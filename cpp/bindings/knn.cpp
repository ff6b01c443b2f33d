#include "bindings.hpp"
#include "checks.hpp"
#include "core/exact_knn.hpp"
#include "core/nndescent.hpp"
#include "core/sparse_knn.hpp"

namespace winkel {

namespace {

using Matrix32 = Mat<const float>;
using Vector32 = Vec<const float>;
using Neighbors32 = std::pair<Out2<int32_t>, Out2<float>>;

Points points_of(const Matrix32& x, const Vector32& norm, int metric) {
  require(norm.shape(0) == x.shape(0), "norm must have one entry a row");
  require(x.shape(1) >= 1, "points must have at least one column");
  require(metric >= 0 && metric <= static_cast<int>(MetricKind::jaccard), "no such search metric");
  require_index_range(rows_in(x));
  return {x.data(), norm.data(), static_cast<int64_t>(x.shape(0)), static_cast<int>(x.shape(1)),
          static_cast<MetricKind>(metric)};
}

void require_width(int width) {
  require(width >= 1 && width <= (1 << 24), "lists must have at least one entry, and at most 2**24");
}

// Lists as arrays; row i counts indices from i (its own search) or from -1 (queries). Missing entries are -1.
Neighbors32 to_arrays(const BoundedLists& lists, int64_t n_rows, int64_t n_points, bool own, Access& access) {
  const size_t width = static_cast<size_t>(lists.width());
  auto [index, idx] = new_array<Out2<int32_t>, int32_t>({static_cast<size_t>(n_rows), width});
  auto [distance, dist] = new_array<Out2<float>, float>({static_cast<size_t>(n_rows), width});
  const Unlocked unlocked;
  const Changing changing(access);
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
      : data(x), norms(norm), search((require_width(width), points_of(x, norm, metric)), width) {}
  Matrix32 data;
  Vector32 norms;
  ExactSearch search;
  Access access;  // threads may run tasks at once, but not while the result is read
};

using Descent = Guarded<NeighborDescent>;

Descent new_descent(Matrix32 x, Vector32 norm, Matrix32 sketch, int metric, int width, int n_candidates,
                    int64_t leaf_size, uint64_t seed, Threads threads) {
  const Points points = points_of(x, norm, metric);
  require(sketch.shape(0) == x.shape(0) && sketch.shape(1) >= 1, "sketch must have one row a point");
  require_width(width);
  require_width(n_candidates);
  require(leaf_size >= 2, "leaves must hold at least two points");
  const Unlocked unlocked;
  return NeighborDescent(points, sketch.data(), static_cast<int>(sketch.shape(1)), width, n_candidates,
                         leaf_size, seed, threads);
}

// Exact search of sparse points among themselves, a range of rows at a time.
struct SparseSearch {
  SparseSearch(Vec<const int64_t> indptr, Vec<const int32_t> indices, Vec<const float> values,
               int64_t n_features, Vec<const float> norm, int width)
      : search(checked(indptr, indices, values, n_features, norm, width), norm.data(), width) {}

  static SparseRows<float> checked(const Vec<const int64_t>& indptr, const Vec<const int32_t>& indices,
                                   const Vec<const float>& values, int64_t n_features,
                                   const Vec<const float>& norm, int width) {
    const SparseRows<float> rows = sparse_rows<float>(indptr, indices, values, n_features);
    require_width(width);
    require(rows_in(norm) == rows.n, "norm must have one entry a row");
    return rows;
  }

  SparseSearcher search;
  Access access;  // as above
};

}  // namespace

void bind_knn(nb::module_& m) {
  nb::class_<Exact>(m, "ExactSearch", "Exact neighbours among n points, task by task.")
      .def(nb::init<Matrix32, Vector32, int, int>(), nb::arg("x"), nb::arg("norm"), nb::arg("metric"),
           nb::arg("width"))
      .def_prop_ro("n_tasks", [](const Exact& e) { return e.search.n_tasks(); })
      .def(
          "run",
          [](Exact& e, int64_t begin, int64_t end, Threads threads) {
            require(begin >= 0 && end <= e.search.n_tasks(), "task out of range");
            const Unlocked unlocked;
            const Reading reading(e.access);
            e.search.run(begin, end, threads);
          },
          nb::arg("begin"), nb::arg("end"), nb::arg("threads"), "Works through tasks begin, ..., end - 1.")
      .def("result", [](Exact& e) {
        const int64_t n = static_cast<int64_t>(e.data.shape(0));
        return to_arrays(e.search.lists(), n, n, true, e.access);
      });
  nb::class_<Descent>(m, "NeighborDescent", "Approximate neighbours among n points, round by round.")
      .def(nb::new_(&new_descent), nb::arg("x"), nb::arg("norm"), nb::arg("sketch"), nb::arg("metric"),
           nb::arg("width"), nb::arg("n_candidates"), nb::arg("leaf_size"), nb::arg("seed"),
           nb::arg("threads"))
      .def(
          "grow_tree",
          [](Descent& d, Threads threads) {
            const Unlocked unlocked;
            const Changing changing(d.access);
            require(!d.finished(), "the search is finished");
            d.grow_tree(threads);
          },
          nb::arg("threads"), "Compares all pairs within the leaves of one more tree.")
      .def(
          "round",
          [](Descent& d, Threads threads) {
            const Unlocked unlocked;
            const Changing changing(d.access);
            require(!d.finished(), "the search is finished");
            return d.round(threads);
          },
          nb::arg("threads"), "One round of nn-descent; how many list entries are new after it.")
      .def(
          "finish",
          [](Descent& d) {
            const Unlocked unlocked;
            const Changing changing(d.access);
            d.finish();
          },
          "Frees what trees and rounds need: none can follow, and only peek can.")
      .def(
          "peek",
          [](const Descent& d, Vec<const int64_t> rows) {
            auto [index, idx] = new_array<Out2<int32_t>, int32_t>({rows.shape(0), d.width()});
            const Unlocked unlocked;
            const Reading reading(d.access);
            for (size_t r = 0; r < rows.shape(0); ++r) {
              require(rows.data()[r] >= 0 && rows.data()[r] < static_cast<int64_t>(d.size()),
                      "row out of range");
              d.peek(rows.data()[r], idx + r * d.width());
            }
            return index;
          },
          nb::arg("rows"), "Present neighbours of some rows.");
  m.def(
      "search_queries",
      [](Matrix32 q, Vector32 q_norm, Matrix32 x, Vector32 x_norm, int metric, int width, Threads threads) {
        require(q.shape(1) == x.shape(1), "queries and points differ in features");
        require_width(width);
        const Points queries = points_of(q, q_norm, metric), points = points_of(x, x_norm, metric);
        BoundedLists lists(queries.n, width);
        {
          const Unlocked unlocked;
          search_queries(queries, points, lists, threads);
        }
        Access own;
        return to_arrays(lists, queries.n, points.n, false, own);
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
          [](SparseSearch& s, int64_t first, int64_t last, Threads threads) {
            require(first >= 0 && last <= s.search.size(), "row out of range");
            const Unlocked unlocked;
            const Reading reading(s.access);
            s.search.run(first, last, threads);
          },
          nb::arg("first"), nb::arg("last"), nb::arg("threads"), "Searches for rows first, ..., last - 1.")
      .def("result", [](SparseSearch& s) {
        return to_arrays(s.search.lists(), s.search.size(), s.search.size(), true, s.access);
      });
  m.def(
      "project",
      [](Matrix32 x, Matrix32 directions, Threads threads) {
        require(x.shape(1) == directions.shape(0) && directions.shape(1) == kProjected, "shapes do not fit");
        auto [array, out_] = new_array<Out2<float>, float>({x.shape(0), directions.shape(1)});
        float* out = out_;
        const Unlocked unlocked;
        const int64_t n_features = static_cast<int64_t>(x.shape(1));
        parallel_blocks(rows_in(x), 256, threads, [&](int64_t lo, int64_t hi) {
          kernel<project_block>()(x.data() + lo * n_features, hi - lo, n_features, directions.data(),
                                  out + lo * kProjected);
        });
        return array;
      },
      nb::arg("x"), nb::arg("directions"), nb::arg("threads"), "The product of x and 64 directions.");
}

}  // namespace winkel
