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

// Codes to begin with, for n rows and m atoms, where there are any.
simplex::Start checked_start(const Vec<const int64_t>& indptr, const Vec<const int32_t>& indices,
                             const Vec<const double>& values, size_t n, size_t m) {
  if (indptr.shape(0) == 0) return {nullptr, nullptr, nullptr};
  require_compressed(indptr, indices, static_cast<int64_t>(n), static_cast<int64_t>(m));
  require(values.shape(0) == indices.shape(0), "there must be one value an entry");
  require_finite(values, "codes to begin with must be finite");
  return {indptr.data(), indices.data(), values.data()};
}

simplex::Settings checked_settings(double locality, int method, double tolerance, int max_rounds) {
  require(method == 0 || method == 1, "no such method");
  require(locality >= 0.0 && std::isfinite(locality), "locality must be finite and not negative");
  return {static_cast<simplex::Method>(method), locality, tolerance, max_rounds};
}

// The codes that `find(report)` gives in blocks, as arrays.
template <class Find>
CodedRows coded(size_t n, const Find& find) {
  auto [objective, objective_data] = new_array<Out1<double>, double>({n});
  auto [gap, gap_data] = new_array<Out1<double>, double>({n});
  auto [rounds, rounds_data] = new_array<Out1<int32_t>, int32_t>({n});
  std::vector<simplex::BlockCodes> blocks;
  size_t entries = 0;
  {
    const Unlocked unlocked;
    blocks = find(simplex::RowReport{objective_data, gap_data, rounds_data});
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
CodedRows code(Mat<const T> rows, Vec<const double> center, Mat<const double> atoms, Mat<const double> gram,
               double locality, int method, double tolerance, int max_rounds, Vec<const int64_t> start_indptr,
               Vec<const int32_t> start_indices, Vec<const double> start_values, Threads threads) {
  const size_t n = rows.shape(0), d = rows.shape(1), m = atoms.shape(0);
  if (m == 0 || atoms.shape(1) != d || center.shape(0) != d || gram.shape(0) != m || gram.shape(1) != m) {
    throw std::invalid_argument("rows, center, atoms and gram must fit each other");
  }
  const simplex::Settings settings = checked_settings(locality, method, tolerance, max_rounds);
  require_finite(rows, "rows must be finite");
  require_finite(center, "center must be finite");
  require_finite(atoms, "atoms must be finite");
  require_finite(gram, "gram must be finite");
  const simplex::Start start = checked_start(start_indptr, start_indices, start_values, n, m);
  return coded(n, [&](const simplex::RowReport& report) {
    return code_rows(rows.data(), static_cast<int64_t>(n), static_cast<int64_t>(d), center.data(),
                     atoms.data(), {gram.data(), static_cast<int64_t>(m)}, settings, start, report, threads);
  });
}

CodedRows code_products(Mat<const double> products, Vec<const double> squares, Mat<const double> gram,
                        double locality, int method, double tolerance, int max_rounds,
                        Vec<const int64_t> start_indptr, Vec<const int32_t> start_indices,
                        Vec<const double> start_values, Threads threads) {
  const size_t n = products.shape(0), m = products.shape(1);
  require(m > 0 && squares.shape(0) == n && gram.shape(0) == m && gram.shape(1) == m,
          "products, squares and gram must fit each other");
  const simplex::Settings settings = checked_settings(locality, method, tolerance, max_rounds);
  require_finite(products, "products must be finite");
  require_finite(squares, "squares must be finite");
  require_finite(gram, "gram must be finite");
  const simplex::Start start = checked_start(start_indptr, start_indices, start_values, n, m);
  return coded(n, [&](const simplex::RowReport& report) {
    return code_by_products(products.data(), squares.data(), static_cast<int64_t>(n),
                            {gram.data(), static_cast<int64_t>(m)}, settings, start, report, threads);
  });
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
  m.def("code_products", &code_products, nb::arg("products"), nb::arg("squares"), nb::arg("gram"),
        nb::arg("locality"), nb::arg("method"), nb::arg("tolerance"), nb::arg("max_rounds"),
        nb::arg("start_indptr"), nb::arg("start_indices"), nb::arg("start_values"), nb::arg("threads") = 1,
        "The same of rows that are known by their products with the atoms and their squared norms.");
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
