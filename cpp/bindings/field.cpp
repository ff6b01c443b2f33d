#include "core/field.hpp"

#include <nanobind/stl/optional.h>

#include <limits>
#include <optional>
#include <stdexcept>

#include "bindings.hpp"
#include "core/tabulated.hpp"

namespace winkel {

namespace {

template <class T>
using Sums = std::pair<Out1<T>, Out2<T>>;

template <class T>
radial::Loop<T> checked_loop(const std::string& kernel, double exponent, Mat<const T> Y, Vec<const T> charges,
                             const RadialTable* table) {
  const radial::Loop<T> loop = table != nullptr
                                   ? radial::act_by_table<T>
                                   : radial::loop<T>(kernel, static_cast<int64_t>(Y.shape(1)), exponent);
  if (loop == nullptr) throw std::invalid_argument("unknown kernel");
  if (Y.shape(0) < 1 || Y.shape(1) < 1 || Y.shape(0) > size_t{std::numeric_limits<int32_t>::max()})
    throw std::invalid_argument("Y must have between 1 and 2^31 - 1 rows, and a column");
  if (charges.shape(0) != Y.shape(0)) throw std::invalid_argument("charges must have one entry a point");
  return loop;
}

template <class T>
Sums<T> exact(const std::string& kernel, double exponent, double floor, Mat<const T> Y, Vec<const T> charges,
              std::optional<Vec<const int64_t>> rows, Threads threads, const RadialTable* table) {
  const radial::Loop<T> loop = checked_loop<T>(kernel, exponent, Y, charges, table);
  const size_t n = Y.shape(0), m = Y.shape(1), count = rows ? rows->shape(0) : n;
  for (size_t r = 0; rows && r < count; ++r) {
    const int64_t row = rows->data()[r], least = r > 0 ? rows->data()[r - 1] + 1 : 0;
    if (row < least || static_cast<size_t>(row) >= n)
      throw std::invalid_argument("rows must be strictly ascending and name points");
  }
  auto [potentials, phi] = new_array<Out1<T>, T>({count});
  auto [forces, force] = new_array<Out2<T>, T>({count, m});
  {
    const Unlocked unlocked;
    radial::exact_sums<T>(loop, {exponent, 0.0, floor, table}, Y.data(), charges.data(),
                          static_cast<int64_t>(n), static_cast<int64_t>(m), rows ? rows->data() : nullptr,
                          static_cast<int64_t>(count), threads, phi, force);
  }
  return {potentials, forces};
}

template <class T, int M>
void run_tree(const T* Y, const T* charges, int64_t n, const FieldRules& rules,
              const DistortionParams& params, radial::Loop<T> loop, Threads threads, T* potentials,
              T* forces) {
  FieldTree<T, M>(Y, charges, n, rules, params, loop, threads).evaluate(potentials, forces);
}

template <class T>
Sums<T> tree(const std::string& kernel, double exponent, double floor, Mat<const T> Y, Vec<const T> charges,
             const FieldRules& rules, Threads threads, const RadialTable* table) {
  const radial::Loop<T> loop = checked_loop<T>(kernel, exponent, Y, charges, table);
  const size_t n = Y.shape(0), m = Y.shape(1);
  if (m != 2 && m != 3) throw std::invalid_argument("Y must have two or three columns");
  if (rules.nodes < 2 || rules.nodes > kMaxNodes) throw std::invalid_argument("nodes must lie in [2, 8]");
  auto [potentials, phi] = new_array<Out1<T>, T>({n});
  auto [forces, force] = new_array<Out2<T>, T>({n, m});
  {
    const Unlocked unlocked;
    const auto run = m == 2 ? run_tree<T, 2> : run_tree<T, 3>;
    run(Y.data(), charges.data(), static_cast<int64_t>(n), rules, {exponent, 0.0, floor, table}, loop,
        threads, phi, force);
  }
  return {potentials, forces};
}

template <class T>
void bind_sums(nb::module_& m) {
  m.def("radial_sums", &exact<T>, nb::arg("kernel"), nb::arg("exponent"), nb::arg("floor"), nb::arg("Y"),
        nb::arg("charges"), nb::arg("rows").none(), nb::arg("threads"), nb::arg("table").none() = nb::none(),
        "Exact potentials and forces of a radial kernel, by its name or a table, at all points or at some "
        "rows.");
  m.def("field_sums", &tree<T>, nb::arg("kernel"), nb::arg("exponent"), nb::arg("floor"), nb::arg("Y"),
        nb::arg("charges"), nb::arg("rules"), nb::arg("threads"), nb::arg("table").none() = nb::none(),
        "Potentials and forces of a radial kernel at all points, by the tree, for two or three columns.");
}

}  // namespace

void bind_field(nb::module_& m) {
  nb::class_<FieldRules>(m, "FieldRules", "When a box of points may stand for its points.")
      .def(
          "__init__",
          [](FieldRules* self, int nodes, int64_t leaf, double separation, double softening, double reach,
             double grain, double grain_slope) {
            new (self) FieldRules{nodes, leaf, separation, softening, reach, grain, grain_slope};
          },
          nb::arg("nodes"), nb::arg("leaf"), nb::arg("separation"), nb::arg("softening"), nb::arg("reach"),
          nb::arg("grain"), nb::arg("grain_slope"));
  bind_sums<float>(m);
  bind_sums<double>(m);
}

}  // namespace winkel
