#include "core/pairs.hpp"

#include <nanobind/stl/optional.h>

#include <limits>
#include <optional>
#include <stdexcept>

#include "bindings.hpp"
#include "checks.hpp"

namespace winkel {

namespace {

void check_edges(const Mat<const int32_t>& edges, int64_t n) {
  require(edges.shape(1) == 2, "edges must have two columns");
  require_range(edges.data(), edges.size(), 0, n, "edges hold an item out of range");
}

template <class T>
void bind_plan(nb::module_& m, const char* name) {
  using Plan = Guarded<PairPlan<T>>;
  nb::class_<Plan>(m, name,
                   "Pairs packed for one fused pass that gives the sum of distortions and its gradient.")
      .def(
          "__init__",
          [](Plan* self, int64_t items, int64_t components) {
            constexpr int64_t most = std::numeric_limits<int32_t>::max();
            if (items < 1 || components < 1 || items > most || components > most ||
                items * Plan::padded_components(components) > most) {
              throw std::invalid_argument("items times components must lie in [1, 2^31)");
            }
            new (self) Plan(items, components);
          },
          nb::arg("items"), nb::arg("components"))
      .def(
          "add",
          [](Plan& self, const std::string& distortion, double first, double second, double floor,
             Mat<const int32_t> edges, std::optional<Vec<const double>> weights, double common_weight,
             std::optional<Vec<const double>> deviations, Threads threads) {
            check_edges(edges, self.items());
            const size_t count = edges.shape(0);
            if ((weights && weights->shape(0) != count) || (deviations && deviations->shape(0) != count)) {
              throw std::invalid_argument("weights and deviations must have one entry a pair");
            }
            if (self.items() + static_cast<int64_t>(2 * count) / kLongest >=
                std::numeric_limits<int32_t>::max())
              throw std::invalid_argument("too many pairs");
            const DistortionParams params{first, second, floor};
            const DistortionLoop<T> loop =
                distortion == "factors" ? nullptr : distortion_loop<T>(distortion, params);
            if (loop == nullptr && distortion != "factors") throw std::invalid_argument("unknown distortion");
            const Unlocked unlocked;
            const Changing changing(self.access);
            self.add(loop, params, edges.data(), static_cast<int64_t>(count),
                     weights ? weights->data() : nullptr, common_weight,
                     deviations ? deviations->data() : nullptr, threads);
          },
          nb::arg("distortion"), nb::arg("first"), nb::arg("second"), nb::arg("floor"), nb::arg("edges"),
          nb::arg("weights").none(), nb::arg("common_weight"), nb::arg("deviations").none(),
          nb::arg("threads"),
          "Adds pairs with a distortion by its name, or with factors given at each evaluation (\"factors\").")
      .def(
          "evaluate",
          [](const Plan& self, Mat<const T> Y, double scale, std::optional<Vec<const T>> factors,
             Mat<T> gradient, Threads threads) {
            const size_t n = static_cast<size_t>(self.items()), c = static_cast<size_t>(self.components());
            if (Y.shape(0) != n || Y.shape(1) != c || gradient.shape(0) != n || gradient.shape(1) != c) {
              throw std::invalid_argument("Y and gradient must have a row an item and a column a component");
            }
            const Unlocked unlocked;
            const Reading reading(self.access);
            if (self.pairs_with_factors() > (factors ? static_cast<int64_t>(factors->shape(0)) : 0)) {
              throw std::invalid_argument("factors must have one entry a pair");
            }
            return self.evaluate(Y.data(), static_cast<T>(scale), factors ? factors->data() : nullptr,
                                 threads, gradient.data());
          },
          nb::arg("Y"), nb::arg("scale"), nb::arg("factors").none(), nb::arg("gradient"), nb::arg("threads"),
          "Sum of the distortions; writes the gradient of scale times it.");
}

template <class T>
Out1<T> distances(Mat<const int32_t> edges, Mat<const T> Y, Threads threads) {
  check_edges(edges, static_cast<int64_t>(Y.shape(0)));
  auto [array, out] = new_array<Out1<T>, T>({edges.shape(0)});
  const Unlocked unlocked;
  pair_distances(edges.data(), static_cast<int64_t>(edges.shape(0)), Y.data(),
                 static_cast<int64_t>(Y.shape(1)), threads, out);
  return array;
}

}  // namespace

void bind_pairs(nb::module_& m) {
  bind_plan<float>(m, "PairPlan32");
  bind_plan<double>(m, "PairPlan64");
  const char* doc = "Euclidean distance of each pair of rows.";
  m.def("pair_distances", &distances<float>, nb::arg("edges"), nb::arg("Y"), nb::arg("threads"), doc);
  m.def("pair_distances", &distances<double>, nb::arg("edges"), nb::arg("Y"), nb::arg("threads"), doc);
}

}  // namespace winkel
