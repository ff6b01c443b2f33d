#include "bindings.hpp"
#include "checks.hpp"
#include "core/parallel.hpp"
#include "core/refine.hpp"

namespace winkel {

namespace {

template <class T>
Out1<T> metric_distances(Mat<const T> x, Mat<const int32_t> pairs, int kind, Threads threads) {
  const int64_t n = static_cast<int64_t>(x.shape(0)), m = static_cast<int64_t>(x.shape(1));
  const int64_t p = static_cast<int64_t>(pairs.shape(0));
  require(pairs.shape(1) == 2, "pairs must have two columns");
  require_range(pairs.data(), pairs.size(), 0, n, "pair out of range");
  require(kind >= 0 && kind <= static_cast<int>(DistanceKind::correlation), "no such distance");
  auto [array, out_] = new_array<Out1<T>, T>({pairs.shape(0)});
  T* out = out_;
  const Unlocked unlocked;
  parallel_blocks(p, 256, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t e = lo; e < hi; ++e) {
      const T *a = x.data() + pairs.data()[2 * e] * m, *b = x.data() + pairs.data()[2 * e + 1] * m;
      out[e] = static_cast<T>(kernel<true_distance<T>>()(static_cast<DistanceKind>(kind), a, b, m));
    }
  });
  return array;
}

}  // namespace

void bind_metrics(nb::module_& m) {
  const char* doc = "True distance of each pair of rows.";
  m.def("metric_distances", &metric_distances<float>, nb::arg("x"), nb::arg("pairs"), nb::arg("kind"),
        nb::arg("threads"), doc);
  m.def("metric_distances", &metric_distances<double>, nb::arg("x"), nb::arg("pairs"), nb::arg("kind"),
        nb::arg("threads"), doc);
}

}  // namespace winkel
