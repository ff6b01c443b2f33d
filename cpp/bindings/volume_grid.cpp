#include "core/volume_grid.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "bindings.hpp"
#include "core/dense.hpp"

namespace winkel {

namespace {

template <class T>
using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out3 = nb::ndarray<nb::numpy, T, nb::ndim<3>, nb::c_contig>;

using Corner = std::array<double, 3>;
using Shape = std::array<size_t, 3>;

template <class T>
VolumeGrid checked_volume(Mat<const T> Y, const Corner& origin, double spacing, const Shape& nodes) {
  if (Y.shape(1) != 3) throw std::invalid_argument("Y must have three columns");
  if (!(spacing > 0.0) || !std::isfinite(1.0 / spacing))
    throw std::invalid_argument("spacing must be positive");
  for (size_t side : nodes)
    if (side >= size_t{1} << 31 || Y.shape(0) >= size_t{1} << 31)
      throw std::invalid_argument("at most 2**31 - 1 points, and nodes a side");
  VolumeGrid grid{{origin[0], origin[1], origin[2]}, 1.0 / spacing, {}};
  T end[2][3] = {};
  if (Y.shape(0) > 0) column_range(Y.data(), static_cast<int64_t>(Y.shape(0)), 3, end[0], end[1]);
  for (size_t side = 0; side < 3; ++side) {
    grid.nodes[side] = static_cast<int64_t>(nodes[side]);
    const double most = static_cast<double>(nodes[side]) - ((side == 2 ? kPadded : kSupport) - 3);
    for (int e = 0; Y.shape(0) > 0 && e < 2; ++e) {
      const double place = (static_cast<double>(end[e][side]) - origin[side]) * grid.per_length;
      if (!(place >= 2.0 && place < most)) throw std::invalid_argument("a point lies outside the grid");
    }
  }
  return grid;
}

template <class T>
Out3<T> spread_charges(Mat<const T> Y, std::optional<Vec<const T>> charges, Corner origin, double spacing,
                       Shape nodes, Threads threads) {
  const VolumeGrid grid = checked_volume<T>(Y, origin, spacing, nodes);
  if (charges && charges->shape(0) != Y.shape(0))
    throw std::invalid_argument("charges must have one entry a point");
  auto [out, held] = new_array<Out3<T>, T>({nodes[0], nodes[1], nodes[2]}, true);
  const Unlocked unlocked;
  spread<T>(grid, Y.data(), charges ? charges->data() : nullptr, static_cast<int64_t>(Y.shape(0)), threads,
            held);
  return out;
}

template <class T>
std::pair<Out1<T>, Out2<T>> read_potential(Mat<const T> Y, Cube<const T> held, Corner origin, double spacing,
                                           Threads threads) {
  const Shape nodes{held.shape(0), held.shape(1), held.shape(2)};
  const VolumeGrid grid = checked_volume<T>(Y, origin, spacing, nodes);
  auto [values, value] = new_array<Out1<T>, T>({Y.shape(0)});
  auto [gradients, gradient] = new_array<Out2<T>, T>({Y.shape(0), 3});
  const Unlocked unlocked;
  read<T>(grid, Y.data(), static_cast<int64_t>(Y.shape(0)), held.data(), threads, value, gradient);
  return {values, gradients};
}

Side side_of(const std::array<int64_t, 3>& shape, size_t axis) {
  Side side{1, shape[axis], 1};
  for (size_t k = 0; k < 3; ++k) (k < axis ? side.outer : side.inner) *= k == axis ? 1 : shape[k];
  return side;
}

template <class T>
std::array<int64_t, 3> shape_of(const Cube<T>& cube) {
  return {static_cast<int64_t>(cube.shape(0)), static_cast<int64_t>(cube.shape(1)),
          static_cast<int64_t>(cube.shape(2))};
}

template <class T>
Out3<T> halve_along(Cube<const T> fine, size_t axis, Threads threads) {
  if (axis > 2) throw std::invalid_argument("axis must be 0, 1 or 2");
  Shape shape{fine.shape(0), fine.shape(1), fine.shape(2)};
  shape[axis] = static_cast<size_t>(halved(static_cast<int64_t>(shape[axis])));
  auto [out, coarse] = new_array<Out3<T>, T>({shape[0], shape[1], shape[2]});
  const Unlocked unlocked;
  halve_side<T>(fine.data(), side_of(shape_of(fine), axis), threads, coarse);
  return out;
}

template <class T>
void double_along(Cube<const T> coarse, Cube<T> fine, size_t axis, Threads threads) {
  if (axis > 2) throw std::invalid_argument("axis must be 0, 1 or 2");
  auto shape = shape_of(fine);
  shape[axis] = halved(shape[axis]);
  if (shape != shape_of(coarse))
    throw std::invalid_argument("coarse must have the shape of the grid halved along the axis");
  const Unlocked unlocked;
  add_doubled_side<T>(coarse.data(), side_of(shape_of(fine), axis), threads, fine.data());
}

template <class T>
void bind_type(nb::module_& m) {
  m.def("volume_spread", &spread_charges<T>, nb::arg("Y"), nb::arg("charges").none(), nb::arg("origin"),
        nb::arg("spacing"), nb::arg("nodes"), nb::arg("threads"),
        "Charges of points in space spread on a grid by quintic B-splines.");
  m.def("volume_read", &read_potential<T>, nb::arg("Y"), nb::arg("held"), nb::arg("origin"),
        nb::arg("spacing"), nb::arg("threads"),
        "Value and gradient at points in space of the quintic spline with coefficients `held`.");
  m.def("volume_halve", &halve_along<T>, nb::arg("fine"), nb::arg("axis"), nb::arg("threads"),
        "Charges as a grid of twice the spacing along an axis holds them.");
  m.def("volume_double", &double_along<T>, nb::arg("coarse"), nb::arg("fine"), nb::arg("axis"),
        nb::arg("threads"),
        "Adds the potential of the grid of twice the spacing along an axis to that of `fine`.");
}

}  // namespace

void bind_volume_grid(nb::module_& m) {
  bind_type<float>(m);
  bind_type<double>(m);
}

}  // namespace winkel
