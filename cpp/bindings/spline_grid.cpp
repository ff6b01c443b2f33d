#include "core/spline_grid.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "bindings.hpp"

namespace winkel {

namespace {

template <class T>
SplineGrid checked_grid(Mat<const T> Y, double x, double y, double spacing, size_t rows, size_t cols) {
  if (Y.shape(1) != 2) throw std::invalid_argument("Y must have two columns");
  if (!(spacing > 0.0)) throw std::invalid_argument("spacing must be positive");
  const SplineGrid grid{{x, y}, 1.0 / spacing, static_cast<int64_t>(rows), static_cast<int64_t>(cols)};
  const double most[2] = {static_cast<double>(rows) - (kSupport - 3),
                          static_cast<double>(cols) - (kPadded - 3)};
  for (size_t e = 0; e < Y.size(); ++e) {
    const double place = (static_cast<double>(Y.data()[e]) - grid.origin[e % 2]) * grid.per_length;
    if (!(place >= 2.0 && place < most[e % 2])) throw std::invalid_argument("a point lies outside the grid");
  }
  return grid;
}

template <class T>
Out2<double> spread_charges(Mat<const T> Y, std::optional<Vec<const T>> charges, double x, double y,
                            double spacing, size_t rows, size_t cols, int threads) {
  const SplineGrid grid = checked_grid<T>(Y, x, y, spacing, rows, cols);
  if (charges && charges->shape(0) != Y.shape(0))
    throw std::invalid_argument("charges must have one entry a point");
  auto [out, held] = new_array<Out2<double>, double>({rows, cols});
  nb::gil_scoped_release release;
  spread<T>(grid, Y.data(), charges ? charges->data() : nullptr, static_cast<int64_t>(Y.shape(0)), threads,
            held);
  return out;
}

template <class T>
std::pair<Out1<double>, Out2<double>> read_potential(Mat<const T> Y, Mat<const double> held, double x,
                                                     double y, double spacing, int threads) {
  const SplineGrid grid = checked_grid<T>(Y, x, y, spacing, held.shape(0), held.shape(1));
  auto [values, value] = new_array<Out1<double>, double>({Y.shape(0)});
  auto [gradients, gradient] = new_array<Out2<double>, double>({Y.shape(0), 2});
  nb::gil_scoped_release release;
  read<T>(grid, Y.data(), static_cast<int64_t>(Y.shape(0)), held.data(), threads, value, gradient);
  return {values, gradients};
}

template <class T>
void bind_type(nb::module_& m) {
  m.def("grid_spread", &spread_charges<T>, nb::arg("Y"), nb::arg("charges").none(), nb::arg("x"),
        nb::arg("y"), nb::arg("spacing"), nb::arg("rows"), nb::arg("cols"), nb::arg("threads"),
        "Charges of points spread on a grid by quintic B-splines.");
  m.def("grid_read", &read_potential<T>, nb::arg("Y"), nb::arg("held"), nb::arg("x"), nb::arg("y"),
        nb::arg("spacing"), nb::arg("threads"),
        "Value and gradient at points of the quintic spline with coefficients `held`.");
}

}  // namespace

void bind_spline_grid(nb::module_& m) {
  bind_type<float>(m);
  bind_type<double>(m);
}

}  // namespace winkel
