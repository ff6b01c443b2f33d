#include "core/spline_grid.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "bindings.hpp"
#include "core/dense.hpp"
#include "core/two_scale.hpp"

namespace winkel {

namespace {

template <class T>
SplineGrid checked_grid(Mat<const T> Y, double x, double y, double spacing, size_t rows, size_t cols) {
  if (Y.shape(1) != 2) throw std::invalid_argument("Y must have two columns");
  if (!(spacing > 0.0) || !std::isfinite(1.0 / spacing))
    throw std::invalid_argument("spacing must be positive");
  if (rows >= size_t{1} << 31 || cols >= size_t{1} << 31 || Y.shape(0) >= size_t{1} << 31)
    throw std::invalid_argument("at most 2**31 - 1 points, rows and columns");
  const SplineGrid grid{{x, y}, 1.0 / spacing, static_cast<int64_t>(rows), static_cast<int64_t>(cols)};
  const double most[2] = {static_cast<double>(rows) - (kSupport - 3),
                          static_cast<double>(cols) - (kPadded - 3)};
  T end[2][2] = {};
  if (Y.shape(0) > 0) column_range(Y.data(), static_cast<int64_t>(Y.shape(0)), 2, end[0], end[1]);
  for (int e = 0; Y.shape(0) > 0 && e < 4; ++e) {
    const double place = (static_cast<double>(end[e / 2][e % 2]) - grid.origin[e % 2]) * grid.per_length;
    if (!(place >= 2.0 && place < most[e % 2])) throw std::invalid_argument("a point lies outside the grid");
  }
  return grid;
}

template <class T>
Out2<T> spread_charges(Mat<const T> Y, std::optional<Vec<const T>> charges, double x, double y,
                       double spacing, size_t rows, size_t cols, Threads threads) {
  const SplineGrid grid = checked_grid<T>(Y, x, y, spacing, rows, cols);
  if (charges && charges->shape(0) != Y.shape(0))
    throw std::invalid_argument("charges must have one entry a point");
  auto [out, held] = new_array<Out2<T>, T>({rows, cols}, true);
  const Unlocked unlocked;
  spread<T>(grid, Y.data(), charges ? charges->data() : nullptr, static_cast<int64_t>(Y.shape(0)), threads,
            held);
  return out;
}

template <class T>
std::pair<Out1<T>, Out2<T>> read_potential(Mat<const T> Y, Mat<const T> held, double x, double y,
                                           double spacing, Threads threads) {
  const SplineGrid grid = checked_grid<T>(Y, x, y, spacing, held.shape(0), held.shape(1));
  auto [values, value] = new_array<Out1<T>, T>({Y.shape(0)});
  auto [gradients, gradient] = new_array<Out2<T>, T>({Y.shape(0), 2});
  const Unlocked unlocked;
  read<T>(grid, Y.data(), static_cast<int64_t>(Y.shape(0)), held.data(), threads, value, gradient);
  return {values, gradients};
}

template <class T>
Out2<T> halve_grid(Mat<const T> fine, Threads threads) {
  const int64_t rows = static_cast<int64_t>(fine.shape(0)), cols = static_cast<int64_t>(fine.shape(1));
  auto [out, coarse] =
      new_array<Out2<T>, T>({static_cast<size_t>(halved(rows)), static_cast<size_t>(halved(cols))});
  const Unlocked unlocked;
  halve<T>(fine.data(), rows, cols, threads, coarse);
  return out;
}

template <class T>
void double_grid(Mat<const T> coarse, Mat<T> fine, Threads threads) {
  const int64_t rows = static_cast<int64_t>(fine.shape(0)), cols = static_cast<int64_t>(fine.shape(1));
  if (static_cast<int64_t>(coarse.shape(0)) != halved(rows) ||
      static_cast<int64_t>(coarse.shape(1)) != halved(cols))
    throw std::invalid_argument("coarse must have the shape of the halved grid");
  const Unlocked unlocked;
  add_doubled<T>(coarse.data(), rows, cols, threads, fine.data());
}

template <class T>
void bind_type(nb::module_& m) {
  m.def("grid_spread", &spread_charges<T>, nb::arg("Y"), nb::arg("charges").none(), nb::arg("x"),
        nb::arg("y"), nb::arg("spacing"), nb::arg("rows"), nb::arg("cols"), nb::arg("threads"),
        "Charges of points spread on a grid by quintic B-splines.");
  m.def("grid_read", &read_potential<T>, nb::arg("Y"), nb::arg("held"), nb::arg("x"), nb::arg("y"),
        nb::arg("spacing"), nb::arg("threads"),
        "Value and gradient at points of the quintic spline with coefficients `held`.");
  m.def("grid_halve", &halve_grid<T>, nb::arg("fine"), nb::arg("threads"),
        "Charges as a grid of twice the spacing holds them.");
  m.def("grid_double", &double_grid<T>, nb::arg("coarse"), nb::arg("fine"), nb::arg("threads"),
        "Adds the potential of the grid of twice the spacing to that of `fine`.");
}

}  // namespace

void bind_spline_grid(nb::module_& m) {
  bind_type<float>(m);
  bind_type<double>(m);
}

}  // namespace winkel
