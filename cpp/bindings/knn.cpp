#include "bindings.hpp"
#include "core/exact_knn.hpp"
#include "core/nndescent.hpp"
#include "core/refine.hpp"

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
      const uint64_t key = lists.row(i)[s];
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
std::pair<Out2<int32_t>, Out2<T>> refine(Mat<const T> q, Mat<const T> x, Mat<const int32_t> candidates,
                                         int kind, int k, bool own, int threads) {
  const int64_t n = static_cast<int64_t>(candidates.shape(0)),
                width = static_cast<int64_t>(candidates.shape(1));
  const int64_t n_x = static_cast<int64_t>(x.shape(0)), n_features = static_cast<int64_t>(x.shape(1));
  if (q.shape(0) != candidates.shape(0) || q.shape(1) != x.shape(1) || k > width || k < 1)
    throw std::invalid_argument("shapes do not fit");
  auto [index, idx_] = new_array<Out2<int32_t>, int32_t>({static_cast<size_t>(n), static_cast<size_t>(k)});
  auto [distance, dist_] = new_array<Out2<T>, T>({static_cast<size_t>(n), static_cast<size_t>(k)});
  int32_t* idx = idx_;
  T* dist = dist_;
  nb::gil_scoped_release release;
  parallel_blocks(n, 64, threads, [&](int64_t lo, int64_t hi) {
    std::vector<std::pair<double, int64_t>> found;
    for (int64_t i = lo; i < hi; ++i) {
      const int64_t origin = own ? i : -1;
      found.clear();
      for (int64_t s = 0; s < width; ++s) {
        const int64_t j = candidates.data()[i * width + s];
        if (j < 0 || j >= n_x) continue;
        const T* xi = q.data() + i * n_features;
        const double d =
            true_distance(static_cast<DistanceKind>(kind), xi, x.data() + j * n_features, n_features);
        found.emplace_back(d, j > origin ? j - origin : j - origin + n_x);
      }
      std::sort(found.begin(), found.end());
      for (int64_t s = 0; s < k; ++s) {
        const bool there = s < static_cast<int64_t>(found.size());
        const int64_t j = there ? (origin + found[static_cast<size_t>(s)].second) % n_x : -1;
        idx[i * k + s] = static_cast<int32_t>(j);
        dist[i * k + s] =
            there ? static_cast<T>(found[static_cast<size_t>(s)].first) : std::numeric_limits<T>::infinity();
      }
    }
  });
  return {index, distance};
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
      .def("result", [](const NeighborDescent& d) {
        auto [index, idx] = new_array<Out2<int32_t>, int32_t>({d.size(), d.width()});
        auto [distance, dist] = new_array<Out2<float>, float>({d.size(), d.width()});
        d.result(idx, dist);
        return Neighbors32{index, distance};
      });
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
  const char* doc = "The k nearest of the candidates of each row by true distance, nearest first.";
  m.def("refine_neighbors", &refine<float>, nb::arg("q"), nb::arg("x"), nb::arg("candidates"),
        nb::arg("kind"), nb::arg("k"), nb::arg("own"), nb::arg("threads"), doc);
  m.def("refine_neighbors", &refine<double>, nb::arg("q"), nb::arg("x"), nb::arg("candidates"),
        nb::arg("kind"), nb::arg("k"), nb::arg("own"), nb::arg("threads"), doc);
}

}  // namespace winkel
