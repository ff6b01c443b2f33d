#include "core/simplex.hpp"

#include <cmath>
#include <stdexcept>

#include "bindings.hpp"
#include "checks.hpp"

namespace winkel {

namespace {

// Codes as compressed rows, then objective, gap and rounds of each row.
using CodedRows =
    std::tuple<Out1<int64_t>, Out1<int32_t>, Out1<double>, Out1<double>, Out1<double>, Out1<int32_t>>;

template <class T>
CodedRows code(Mat<const T> rows, Vec<const double> center, Mat<const double> atoms, Mat<const double> gram,
               double locality, int method, double tolerance, int max_rounds, Vec<const int64_t> start_indptr,
               Vec<const int32_t> start_indices, Vec<const double> start_values, Threads threads) {
  const size_t n = rows.shape(0), d = rows.shape(1), m = atoms.shape(0);
  if (m == 0 || atoms.shape(1) != d || center.shape(0) != d || gram.shape(0) != m || gram.shape(1) != m) {
    throw std::invalid_argument("rows, center, atoms and gram must fit each other");
  }
  require(method == 0 || method == 1, "no such method");
  require(locality >= 0.0 && std::isfinite(locality), "locality must be finite and not negative");
  require_finite(rows, "rows must be finite");
  require_finite(center, "center must be finite");
  require_finite(atoms, "atoms must be finite");
  require_finite(gram, "gram must be finite");
  simplex::Start start{nullptr, nullptr, nullptr};
  if (start_indptr.shape(0) > 0) {
    require_compressed(start_indptr, start_indices, static_cast<int64_t>(n), static_cast<int64_t>(m));
    require(start_values.shape(0) == start_indices.shape(0), "there must be one value an entry");
    require_finite(start_values, "codes to begin with must be finite");
    start = {start_indptr.data(), start_indices.data(), start_values.data()};
  }
  const simplex::Settings settings{static_cast<simplex::Method>(method), locality, tolerance, max_rounds};
  auto [objective, objective_data] = new_array<Out1<double>, double>({n});
  auto [gap, gap_data] = new_array<Out1<double>, double>({n});
  auto [rounds, rounds_data] = new_array<Out1<int32_t>, int32_t>({n});
  std::vector<simplex::BlockCodes> blocks;
  size_t entries = 0;
  {
    const Unlocked unlocked;
    blocks = code_rows(rows.data(), static_cast<int64_t>(n), static_cast<int64_t>(d), center.data(),
                       atoms.data(), {gram.data(), static_cast<int64_t>(m)}, settings, start,
                       {objective_data, gap_data, rounds_data}, threads);
    for (const auto& block : blocks) entries += block.entries.size();
  }
  auto [indptr, indptr_data] = new_array<Out1<int64_t>, int64_t>({n + 1}, true);
  auto [indices, indices_data] = new_array<Out1<int32_t>, int32_t>({entries});
  auto [values, values_data] = new_array<Out1<double>, double>({entries});
  size_t row = 0, at = 0;
  for (const auto& block : blocks) {
    for (int32_t length : block.lengths) {
      indptr_data[row + 1] = indptr_data[row] + length;
      ++row;
    }
    for (const simplex::Entry& e : block.entries) {
      indices_data[at] = e.atom;
      values_data[at++] = e.value;
    }
  }
  return {indptr, indices, values, objective, gap, rounds};
}

template <class T>
void bind_simplex_of(nb::module_& m) {
  m.def("code_simplex", &code<T>, nb::arg("rows"), nb::arg("center"), nb::arg("atoms"), nb::arg("gram"),
        nb::arg("locality"), nb::arg("method"), nb::arg("tolerance"), nb::arg("max_rounds"),
        nb::arg("start_indptr"), nb::arg("start_indices"), nb::arg("start_values"), nb::arg("threads") = 1,
        "Codes of rows on the simplex: indptr, indices, values, and each row's objective, gap and rounds.");
  m.def(
      "weighted_row_sums",
      [](Vec<const int64_t> indptr, Vec<const int32_t> indices, Vec<const double> weights, Mat<const T> rows,
         Vec<const double> center, Threads threads) {
        if (indptr.shape(0) == 0 || center.shape(0) != rows.shape(1)) {
          throw std::invalid_argument("indptr and center must fit the rows");
        }
        const size_t count = indptr.shape(0) - 1;
        require_compressed(indptr, indices, static_cast<int64_t>(count), rows_in(rows));
        require(weights.shape(0) == indices.shape(0), "there must be one weight an entry");
        auto [array, out] = new_array<Out2<double>, double>({count, rows.shape(1)}, true);
        const Unlocked unlocked;
        weighted_row_sums(indptr.data(), indices.data(), weights.data(), static_cast<int64_t>(count),
                          rows.data(), center.data(), static_cast<int64_t>(rows.shape(1)), threads, out);
        return array;
      },
      nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"), nb::arg("rows"), nb::arg("center"),
      nb::arg("threads") = 1, "For every list of rows the weighted sum of those rows less the center.");
}

}  // namespace

void bind_simplex(nb::module_& m) {
  bind_simplex_of<float>(m);
  bind_simplex_of<double>(m);
  m.def(
      "project_simplex",
      [](Mat<const double> points, Threads threads) {
        const auto n = static_cast<int64_t>(points.shape(0)), k = static_cast<int64_t>(points.shape(1));
        require(k > 0, "points must have at least one coordinate");
        require_finite(points, "points must be finite");
        auto [array, out] = new_array<Out2<double>, double>({points.shape(0), points.shape(1)});
        const Unlocked unlocked;
        std::copy(points.data(), points.data() + n * k, out);
        parallel_blocks(n, 256, threads, [&, target = out](int64_t lo, int64_t hi) {
          std::vector<double> sorted;
          for (int64_t i = lo; i < hi; ++i) simplex::project(target + i * k, k, sorted);
        });
        return array;
      },
      nb::arg("points"), nb::arg("threads") = 1, "The nearest point of the probability simplex to each row.");
}

}  // namespace winkel
