#include "core/forces.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bindings.hpp"
#include "checks.hpp"
#include "core/calibrate.hpp"

namespace winkel {

namespace {

template <class T>
using Sums = std::pair<Out1<T>, Out2<T>>;

// A curve as Python names it.
struct NamedCurve {
  NamedCurve(const std::string& kernel, const std::string& form, double first, double second, double floor)
      : single(forces::trace_of<float>(kernel, form)),
        precise(forces::trace_of<double>(kernel, form)),
        params{first, second, floor} {
    if (single == nullptr) throw std::invalid_argument("no such curve: " + kernel + ", " + form);
  }

  template <class T>
  forces::Trace<T> trace() const {
    if constexpr (std::is_same_v<T, float>)
      return single;
    else
      return precise;
  }

  forces::Trace<float> single;
  forces::Trace<double> precise;
  forces::CurveParams params;
};

template <class T>
void check_points(Mat<const T> Y) {
  if (Y.shape(0) < 1 || Y.shape(1) < 1 || Y.shape(0) > size_t{std::numeric_limits<int32_t>::max()})
    throw std::invalid_argument("Y must have between 1 and 2^31 - 1 rows, and a column");
}

template <class T>
std::pair<Out1<T>, Out1<T>> curve_values(const NamedCurve& curve, Vec<const T> squares) {
  auto [values, value] = new_array<Out1<T>, T>({squares.shape(0)});
  auto [slopes, slope] = new_array<Out1<T>, T>({squares.shape(0)});
  constexpr size_t batch = 512;
  std::array<T, batch> at, slopes_at, values_at;
  for (size_t first = 0; first < squares.shape(0); first += batch) {
    const size_t count = std::min(batch, squares.shape(0) - first);
    at.fill(T(1));  // the rest of a batch
    std::copy_n(squares.data() + first, count, at.begin());
    curve.trace<T>()(at.data(), batch, &curve.params, slopes_at.data(), values_at.data());
    std::copy_n(slopes_at.begin(), count, slope + first);
    std::copy_n(values_at.begin(), count, value + first);
  }
  return {values, slopes};
}

template <class T>
std::pair<double, Out2<T>> listed(const NamedCurve& curve, Mat<const T> Y, Vec<const int64_t> indptr,
                                  Vec<const int32_t> indices, Vec<const T> weights, bool with_value,
                                  Threads threads) {
  check_points<T>(Y);
  const size_t n = Y.shape(0), m = Y.shape(1);
  require_compressed(indptr, indices, static_cast<int64_t>(n), static_cast<int64_t>(n));
  require(weights.shape(0) == indices.shape(0), "there must be one weight an entry");
  auto [out, force_] = new_array<Out2<T>, T>({n, m});
  T* force = force_;
  double value = 0.0;
  {
    const Unlocked unlocked;
    const forces::ListedPairs<T> pairs{indptr.data(), indices.data(), weights.data()};
    value = forces::listed_forces<T>(curve.trace<T>(), curve.params, Y.data(), static_cast<int64_t>(n),
                                     static_cast<int64_t>(m), pairs, with_value, threads, force);
  }
  return {value, out};
}

template <class T>
Sums<T> all(const NamedCurve& curve, Mat<const T> Y, Vec<const T> charges,
            std::optional<Vec<const int64_t>> rows, Threads threads) {
  check_points<T>(Y);
  const size_t n = Y.shape(0), m = Y.shape(1), count = rows ? rows->shape(0) : n;
  if (charges.shape(0) != n) throw std::invalid_argument("charges must have one entry a point");
  for (size_t r = 0; rows && r < count; ++r)
    if (rows->data()[r] < 0 || static_cast<size_t>(rows->data()[r]) >= n)
      throw std::invalid_argument("rows must name points");
  auto [potentials, potential] = new_array<Out1<T>, T>({count});
  auto [out, force] = new_array<Out2<T>, T>({count, m});
  const Unlocked unlocked;
  forces::all_forces<T>(curve.trace<T>(), curve.params, Y.data(), charges.data(), static_cast<int64_t>(n),
                        static_cast<int64_t>(m), rows ? rows->data() : nullptr, static_cast<int64_t>(count),
                        threads, potential, force);
  return {potentials, out};
}

template <class T>
Sums<T> sampled(const NamedCurve& curve, Mat<const T> Y, Vec<const T> charges, int64_t draws, uint64_t seed,
                uint64_t round, Threads threads) {
  check_points<T>(Y);
  const size_t n = Y.shape(0), m = Y.shape(1);
  if (charges.shape(0) != n) throw std::invalid_argument("charges must have one entry a point");
  if (n < 2 || draws < 1 || draws >= (int64_t{1} << 31))
    throw std::invalid_argument("there must be two points, one draw and fewer than 2**31");
  auto [potentials, potential] = new_array<Out1<T>, T>({n});
  auto [out, force] = new_array<Out2<T>, T>({n, m});
  const Unlocked unlocked;
  forces::sampled_forces<T>(curve.trace<T>(), curve.params, Y.data(), charges.data(), static_cast<int64_t>(n),
                            static_cast<int64_t>(m), draws, seed, round, threads, potential, force);
  return {potentials, out};
}

template <class T>
void check_distances(Mat<const T> distances) {
  if (distances.shape(0) < 1 || distances.shape(1) < 1)
    throw std::invalid_argument("there must be a row with a distance");
  require_finite(distances, "distances must be finite");
  const size_t k = distances.shape(1);
  for (size_t i = 0; i < distances.shape(0); ++i) {
    const T* row = distances.data() + i * k;
    bool ascends = row[0] >= T(0);
    for (size_t j = 1; j < k; ++j) ascends &= row[j - 1] <= row[j];
    require(ascends, "distances must ascend in every row, and not be negative");
  }
}

template <class T>
Out2<T> perplexity(Mat<const T> distances, double wanted, Threads threads) {
  check_distances<T>(distances);
  if (!(wanted >= 1.0)) throw std::invalid_argument("perplexity must be at least 1");
  auto [out, weights] = new_array<Out2<T>, T>({distances.shape(0), distances.shape(1)});
  const Unlocked unlocked;
  calibrate_perplexity<T>(distances.data(), static_cast<int64_t>(distances.shape(0)),
                          static_cast<int64_t>(distances.shape(1)), wanted, threads, weights);
  return out;
}

template <class T>
Out2<T> fuzzy(Mat<const T> distances, double target, double least, Threads threads) {
  check_distances<T>(distances);
  auto [out, weights] = new_array<Out2<T>, T>({distances.shape(0), distances.shape(1)});
  const Unlocked unlocked;
  calibrate_fuzzy<T>(distances.data(), static_cast<int64_t>(distances.shape(0)),
                     static_cast<int64_t>(distances.shape(1)), target, least, threads, weights);
  return out;
}

template <class T>
void bind_type(nb::module_& m) {
  m.def("curve_values", &curve_values<T>, nb::arg("curve"), nb::arg("squares"),
        "Values and slopes of a curve at squared distances.");
  m.def("listed_forces", &listed<T>, nb::arg("curve"), nb::arg("Y"), nb::arg("indptr"), nb::arg("indices"),
        nb::arg("weights"), nb::arg("with_value"), nb::arg("threads"),
        "Sum of w f over listed pairs (0 without value), and forces sum_j w f' (y_i - y_j) of every row.");
  m.def("all_forces", &all<T>, nb::arg("curve"), nb::arg("Y"), nb::arg("charges"), nb::arg("rows").none(),
        nb::arg("threads"), "Exact potentials sum_j q f and forces sum_j q f' (y_i - y_j) over all others.");
  m.def("sampled_forces", &sampled<T>, nb::arg("curve"), nb::arg("Y"), nb::arg("charges"), nb::arg("draws"),
        nb::arg("seed"), nb::arg("round"), nb::arg("threads"),
        "What all_forces gives, estimated from random others of every row.");
  m.def("calibrate_perplexity", &perplexity<T>, nb::arg("distances"), nb::arg("perplexity"),
        nb::arg("threads"), "Conditional probabilities of neighbours at a perplexity, row by row.");
  m.def("calibrate_fuzzy", &fuzzy<T>, nb::arg("distances"), nb::arg("target"), nb::arg("least"),
        nb::arg("threads"), "Local fuzzy memberships of neighbours with a given sum, row by row.");
}

}  // namespace

void bind_forces(nb::module_& m) {
  nb::class_<NamedCurve>(m, "Curve", "A function of the squared distance of two points, by kernel and form.")
      .def(nb::init<const std::string&, const std::string&, double, double, double>(), nb::arg("kernel"),
           nb::arg("form"), nb::arg("first"), nb::arg("second"), nb::arg("floor"));
  bind_type<float>(m);
  bind_type<double>(m);
}

}  // namespace winkel
