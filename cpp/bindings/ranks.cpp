#include "core/ranks.hpp"

#include "bindings.hpp"
#include "checks.hpp"

namespace winkel {

namespace {

using Matrix32 = Mat<const float>;
using Vector32 = Vec<const float>;
using Origins = Vec<const int64_t>;

Points points_in(const Matrix32& x, const Vector32& norm, int metric) {
  require(norm.shape(0) == x.shape(0), "norm must have one entry a row");
  require(x.shape(0) >= 1 && x.shape(1) >= 1, "there must be at least one row and one column");
  require(metric >= 0 && metric <= static_cast<int>(MetricKind::squared_differences),
          "no such search metric");
  require_index_range(rows_in(x));
  return {x.data(), norm.data(), rows_in(x), static_cast<int>(x.shape(1)), static_cast<MetricKind>(metric)};
}

void require_origins(const Origins& origins, int64_t rows, int64_t n) {
  require(rows_in(origins) == rows, "origins must have one entry a row");
  for (int64_t i = 0; i < rows; ++i)
    require(origins.data()[i] >= -1 && origins.data()[i] < n, "origin out of range");
}

struct Rows {
  Rows(Matrix32 x, Vector32 norm, int metric) : data(x), norms(norm), distances(points_in(x, norm, metric)) {}
  Matrix32 data;
  Vector32 norms;
  DistanceRows distances;
};

// Results as large as these go to memory that the caller keeps and gives again.
void distance_rows(const Rows& self, Matrix32 q, Vector32 norm, Origins origins, Mat<float> out,
                   Threads threads) {
  const DistanceRows& rows = self.distances;
  require(static_cast<int>(q.shape(1)) == rows.n_features(), "queries and points differ in features");
  require_origins(origins, rows_in(q), rows.size());
  require(rows_in(out) == rows_in(q) && static_cast<int64_t>(out.shape(1)) == rows.size(),
          "out must have one row a query and one column a point");
  const Points queries = points_in(q, norm, static_cast<int>(rows.metric()));
  const Unlocked unlocked;
  rows.fill(queries, origins.data(), out.data(), threads);
}

template <class T>
void ranks_of_rows(Mat<const T> d, Origins origins, Mat<int32_t> out, Threads threads) {
  const int64_t n = static_cast<int64_t>(d.shape(1));
  require_origins(origins, rows_in(d), n);
  require_index_range(n);
  require(rows_in(out) == rows_in(d) && static_cast<int64_t>(out.shape(1)) == n,
          "out must have the shape of d");
  const Unlocked unlocked;
  rank_rows(d.data(), rows_in(d), n, origins.data(), out.data(), threads);
}

void require_ranks(const Mat<const int32_t>& ranks, int64_t n) {
  int32_t least = 0, most = 0;
  for (size_t k = 0; k < ranks.size(); ++k) {
    least = std::min(least, ranks.data()[k]);
    most = std::max(most, ranks.data()[k]);
  }
  require(least >= 0 && most <= n, "rank out of range");
}

std::pair<Out1<double>, Out1<int64_t>> corank_of(Mat<const int32_t> first, Mat<const int32_t> second,
                                                 Vec<const double> weights, Threads threads) {
  const int64_t b = rows_in(first), n = static_cast<int64_t>(first.shape(1));
  require(rows_in(second) == b && static_cast<int64_t>(second.shape(1)) == n, "ranks differ in shape");
  require(rows_in(weights) == n + 1, "weights must be given for ranks 0, ..., n");
  require_ranks(first, n);
  require_ranks(second, n);
  auto [sums, sum] = new_array<Out1<double>, double>({first.shape(0)});
  auto [counts, count] = new_array<Out1<int64_t>, int64_t>({first.shape(1) + 1}, true);
  {
    const Unlocked unlocked;
    corank(first.data(), second.data(), b, n, weights.data(), sum, count, threads);
  }
  return {sums, counts};
}

Out2<double> moments_of(Matrix32 x, Matrix32 y, bool root_x, bool root_y, Threads threads) {
  require(x.shape(0) == y.shape(0) && x.shape(1) == y.shape(1), "distances differ in shape");
  auto [array, out_] = new_array<Out2<double>, double>({x.shape(0), 3});
  double* out = out_;
  const int64_t n = static_cast<int64_t>(x.shape(1));
  const Unlocked unlocked;
  parallel_blocks(rows_in(x), 1, threads, [&](int64_t i, int64_t) {
    distance_moments(x.data() + i * n, y.data() + i * n, n, root_x, root_y, out + 3 * i);
  });
  return array;
}

template <class T>
TrueDistances<T> true_distances_of(const Matrix32& d, const Mat<const T>& q, const Mat<const T>& x,
                                   const Origins& origins, int kind, const Vec<const double>& offset,
                                   double slope) {
  const int64_t n = rows_in(x), b = rows_in(q);
  require(rows_in(d) == b && static_cast<int64_t>(d.shape(1)) == n && rows_in(offset) == b,
          "distances, rows and points do not fit");
  require(q.shape(1) == x.shape(1), "queries and points differ in features");
  require(kind >= 0 && kind <= static_cast<int>(DistanceKind::correlation), "no such metric");
  require(slope >= 0.0 && slope < 0.5, "slope must lie in [0, 0.5)");
  require_index_range(n);
  require_origins(origins, b, n);
  return {q.data(),
          x.data(),
          n,
          static_cast<int64_t>(x.shape(1)),
          origins.data(),
          static_cast<DistanceKind>(kind),
          offset.data(),
          slope};
}

template <class T>
Out2<int64_t> exact_ranks_of(Matrix32 d, Mat<const T> q, Mat<const T> x, Origins origins,
                             Mat<const int32_t> targets, int kind, Vec<const double> offset, double slope,
                             Threads threads) {
  const TrueDistances<T> truth = true_distances_of<T>(d, q, x, origins, kind, offset, slope);
  require(rows_in(targets) == rows_in(q), "targets must have one row a query");
  for (size_t k = 0; k < targets.size(); ++k)
    require(targets.data()[k] >= -1 && targets.data()[k] < truth.n, "target out of range");
  auto [array, out_] = new_array<Out2<int64_t>, int64_t>({targets.shape(0), targets.shape(1)});
  int64_t* out = out_;
  const int64_t t = static_cast<int64_t>(targets.shape(1));
  const Unlocked unlocked;
  parallel_blocks(rows_in(q), 1, threads, [&](int64_t i, int64_t) {
    exact_ranks(truth, i, d.data() + i * truth.n, targets.data() + i * t, t, out + i * t);
  });
  return array;
}

template <class T>
std::pair<Out2<int32_t>, Out2<double>> exact_nearest_of(Matrix32 d, Mat<const T> q, Mat<const T> x,
                                                        Origins origins, int kind, int k,
                                                        Vec<const double> offset, double slope,
                                                        Threads threads) {
  const TrueDistances<T> truth = true_distances_of<T>(d, q, x, origins, kind, offset, slope);
  for (int64_t i = 0; i < rows_in(q); ++i)
    require(k >= 1 && k <= truth.n - (origins.data()[i] >= 0), "k must lie between 1 and the other points");
  auto [index, idx_] = new_array<Out2<int32_t>, int32_t>({q.shape(0), static_cast<size_t>(k)});
  auto [distance, far_] = new_array<Out2<double>, double>({q.shape(0), static_cast<size_t>(k)});
  int32_t* idx = idx_;
  double* far = far_;
  {
    const Unlocked unlocked;
    const int team = threads;
    std::vector<NearSet> sets(static_cast<size_t>(team));
    parallel_blocks(rows_in(q), 1, team, [&](int64_t i, int64_t) {
      sets[static_cast<size_t>(thread_id())].nearest(truth, i, d.data() + i * truth.n, k, idx + i * k,
                                                     far + i * k);
    });
  }
  return {index, distance};
}

template <class T>
void bind_exact(nb::module_& m) {
  m.def("rank_rows", &ranks_of_rows<T>, nb::arg("d"), nb::arg("origins"), nb::arg("out"), nb::arg("threads"),
        "Ranks of all points in each row of distances: 1, 2, ..., and 0 for the row itself.");
  m.def("exact_ranks", &exact_ranks_of<T>, nb::arg("d"), nb::arg("q"), nb::arg("x"), nb::arg("origins"),
        nb::arg("targets"), nb::arg("kind"), nb::arg("offset"), nb::arg("slope"), nb::arg("threads"),
        "Ranks of the targets among all points by true distance, of which d are search distances.");
  m.def("exact_nearest", &exact_nearest_of<T>, nb::arg("d"), nb::arg("q"), nb::arg("x"), nb::arg("origins"),
        nb::arg("kind"), nb::arg("k"), nb::arg("offset"), nb::arg("slope"), nb::arg("threads"),
        "The k nearest points by true distance, of which d are search distances.");
}

}  // namespace

void bind_ranks(nb::module_& m) {
  nb::class_<Rows>(m, "DistanceRows", "Search distances of any rows to all of n points.")
      .def(nb::init<Matrix32, Vector32, int>(), nb::arg("x"), nb::arg("norm"), nb::arg("metric"))
      .def("rows", &distance_rows, nb::arg("q"), nb::arg("norm"), nb::arg("origins"), nb::arg("out"),
           nb::arg("threads"),
           "Distances of rows q to all points; origins are their numbers if they are points, else -1.");
  bind_exact<float>(m);
  bind_exact<double>(m);
  m.def("corank", &corank_of, nb::arg("first"), nb::arg("second"), nb::arg("weights"), nb::arg("threads"),
        "For each row the sum of weights[larger rank], and how many points have which larger rank.");
  m.def("distance_moments", &moments_of, nb::arg("x"), nb::arg("y"), nb::arg("root_x"), nb::arg("root_y"),
        nb::arg("threads"), "Sums of x², xy and y² of each row of distances.");
}

}  // namespace winkel
