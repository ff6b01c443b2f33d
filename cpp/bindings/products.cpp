#include <algorithm>
#include <cmath>

#include "bindings.hpp"
#include "checks.hpp"
#include "core/local_weights.hpp"
#include "core/matching.hpp"

namespace winkel {

namespace {

using Pairs = std::tuple<int64_t, Out1<int32_t>, Out1<int32_t>, Out1<float>>;

Pairs similar_pairs(Mat<const float> x, float limit, int64_t first, int64_t max_pairs, Threads threads) {
  const int64_t n = rows_in(x);
  require(x.shape(1) >= 1, "rows must have at least one column");
  require(first >= 0 && first <= n, "first must be a row");
  require_index_range(n);
  SimilarityJoin join(x.data(), n, static_cast<int>(x.shape(1)), limit, first, max_pairs);
  {
    const Unlocked unlocked;
    join.run(threads);
  }
  const size_t pairs = join.complete() ? static_cast<size_t>(join.count()) : 0;
  auto [i, pi] = new_array<Out1<int32_t>, int32_t>({pairs});
  auto [j, pj] = new_array<Out1<int32_t>, int32_t>({pairs});
  auto [cosine, pc] = new_array<Out1<float>, float>({pairs});
  if (pairs > 0) join.take(pi, pj, pc);
  return {join.count(), i, j, cosine};
}

std::tuple<Out1<int64_t>, Out1<int32_t>, Out1<float>> rows_of_pairs(Vec<const int32_t> i,
                                                                    Vec<const int32_t> j,
                                                                    Vec<const float> cosine,
                                                                    Vec<const double> norm, double tau) {
  const int64_t n = rows_in(norm), pairs = rows_in(i);
  require_index_range(n);
  require(rows_in(j) == pairs && rows_in(cosine) == pairs, "i, j and cosine must be of one length");
  for (int64_t p = 0; p < pairs; ++p) {
    require(i.data()[p] >= 0 && i.data()[p] < j.data()[p] && j.data()[p] < n, "pairs must have i < j < n");
  }
  const size_t entries = static_cast<size_t>(n + 2 * pairs);
  auto [indptr, ptr] = new_array<Out1<int64_t>, int64_t>({static_cast<size_t>(n) + 1}, true);
  auto [indices, idx] = new_array<Out1<int32_t>, int32_t>({entries});
  auto [values, val] = new_array<Out1<float>, float>({entries});
  const Unlocked unlocked;
  similarity_rows(i.data(), j.data(), cosine.data(), pairs, norm.data(), n, tau, ptr, idx, val);
  return {indptr, indices, values};
}

// The low-rank matrix and the block of vectors, which must fit each other and the lanes.
std::pair<LowRank, VectorBlock> operands(const Mat<const float>& left, const Mat<const float>& right,
                                         const Mat<const float>& v) {
  require(left.shape(0) == right.shape(0) && left.shape(1) == right.shape(1) && v.shape(0) == left.shape(0),
          "left, right and v must have the same rows, and left and right the same columns");
  require(left.shape(1) % kProductLanes == 0 && v.shape(1) % kProductLanes == 0 && left.shape(1) > 0,
          "columns must be a multiple of 8");
  require_index_range(rows_in(left));
  return {{left.data(), right.data(), rows_in(left), static_cast<int>(left.shape(1))},
          {v.data(), static_cast<int64_t>(v.shape(1))}};
}

// A symmetric matrix of similarities, checked and cut into blocks once and then used many times.
struct SimilarMatrix {
  SimilarMatrix(Vec<const int64_t> indptr, Vec<const int32_t> indices, Vec<const float> values)
      : blocks(checked(indptr, indices, values)) {}

  static SimilarBlocks checked(const Vec<const int64_t>& indptr, const Vec<const int32_t>& indices,
                               const Vec<const float>& values) {
    require(rows_in(indptr) >= 1, "not a CSR matrix");
    const int64_t n = rows_in(indptr) - 1;
    sparse_rows<float>(indptr, indices, values, n);
    require(is_symmetric(indptr.data(), n, indices.data(), values.data()), "the matrix must be symmetric");
    const Unlocked unlocked;
    return {indptr.data(), indices.data(), values.data(), n};
  }

  std::tuple<Out2<double>, Out1<double>> residual_product(Mat<const float> left, Mat<const float> right,
                                                          Mat<const float> v, Threads threads) const {
    const auto [low, block] = operands(left, right, v);
    require(low.n == blocks.n(), "left must have a row for each row of the matrix");
    auto [array, out] = new_array<Out2<double>, double>({v.shape(0), v.shape(1)}, true);
    auto [totals, pt] = new_array<Out1<double>, double>({5});
    MatchingSums sums;
    {
      const Unlocked unlocked;
      sums = blocks.residual_product(low, block, threads, out);
    }
    const double each[] = {sums.beyond, sums.beyond_square, sums.own, sums.own_square, sums.gap};
    std::copy(each, each + 5, pt);
    return {array, totals};
  }

  Out2<double> support_product(Mat<const float> v, Threads threads) const {
    require(rows_in(v) == blocks.n() && v.shape(1) % kProductLanes == 0,
            "v must have a row for each row of the matrix, and a multiple of 8 columns");
    auto [array, out] = new_array<Out2<double>, double>({v.shape(0), v.shape(1)}, true);
    const Unlocked unlocked;
    blocks.support_product({v.data(), static_cast<int64_t>(v.shape(1))}, threads, out);
    return array;
  }

  SimilarBlocks blocks;
};

// -------------------------------------------------------------------------------- locally linear weights

template <class T>
using Csr = std::tuple<Vec<const int64_t>, Vec<const int32_t>, Vec<const T>>;

void check_near(const Mat<const int64_t>& near, int64_t rows, int64_t fitted, double ridge) {
  require(rows_in(near) == rows && near.shape(1) >= 1,
          "near must list as many rows for each row, at least one");
  const int64_t* last = near.data() + near.size();
  require(std::all_of(near.data(), last, [&](int64_t j) { return j >= 0 && j < fitted; }),
          "near rows must be fitted ones");
  require(ridge >= 0.0 && std::isfinite(ridge), "ridge must be finite and not negative");
}

template <class T>
Out2<double> weights(Mat<const T> rows, Mat<const T> fitted, Mat<const int64_t> near, double ridge,
                     Threads threads) {
  require(rows.shape(1) == fitted.shape(1), "rows and fitted rows must have the same columns");
  check_near(near, rows_in(rows), rows_in(fitted), ridge);
  const int64_t k = columns_in(near), d = columns_in(rows);
  auto [array, out] = new_array<Out2<double>, double>({near.shape(0), near.shape(1)});
  const Unlocked unlocked;
  local_weights([&] { return local::DenseProducts<T>(rows.data(), fitted.data(), d, k); }, near.data(),
                rows_in(rows), k, ridge, threads, out);
  return array;
}

// One more than the last column that has an entry.
template <class T>
int64_t widest(const SparseRows<T>& rows) {
  const int32_t *first = rows.indices, *last = first + rows.indptr[rows.n];
  return first == last ? 0 : int64_t{*std::max_element(first, last)} + 1;
}

template <class T>
Out2<double> sparse_weights(Csr<T> rows_csr, Csr<T> fitted_csr, int64_t n_features, Mat<const int64_t> near,
                            double ridge, Threads threads) {
  const auto& [r_indptr, r_indices, r_values] = rows_csr;
  const auto& [f_indptr, f_indices, f_values] = fitted_csr;
  const SparseRows<T> rows = sparse_rows<T>(r_indptr, r_indices, r_values, n_features);
  const SparseRows<T> fitted = sparse_rows<T>(f_indptr, f_indices, f_values, n_features);
  check_near(near, rows.n, fitted.n, ridge);
  auto [array, out] = new_array<Out2<double>, double>({near.shape(0), near.shape(1)});
  const Unlocked unlocked;
  const int64_t columns = std::max(widest(rows), widest(fitted));
  local_weights([&] { return local::SparseProducts<T>(rows, fitted, columns); }, near.data(), rows.n,
                columns_in(near), ridge, threads, out);
  return array;
}

template <class T>
void bind_weights(nb::module_& m) {
  m.def("local_weights", &weights<T>, nb::arg("rows"), nb::arg("fitted"), nb::arg("near"), nb::arg("ridge"),
        nb::arg("threads"),
        "Weights of the near fitted rows whose sum comes closest to each row; NaN where rounding leaves no "
        "positive matrix.");
  m.def("sparse_local_weights", &sparse_weights<T>, nb::arg("rows"), nb::arg("fitted"), nb::arg("n_features"),
        nb::arg("near"), nb::arg("ridge"), nb::arg("threads"),
        "The same for CSR rows, given as (indptr, indices, values).");
}

}  // namespace

void bind_products(nb::module_& m) {
  bind_weights<float>(m);
  bind_weights<double>(m);
  m.def("similar_pairs", &similar_pairs, nb::arg("x"), nb::arg("limit"), nb::arg("first"),
        nb::arg("max_pairs"), nb::arg("threads"),
        "How many pairs i < j, first <= j, of rows of unit norm have a cosine above the limit, and i, j and "
        "cosine of each; with more than max_pairs the search stops and no pairs are given.");
  m.def("similarity_rows", &rows_of_pairs, nb::arg("i"), nb::arg("j"), nb::arg("cosine"), nb::arg("norm"),
        nb::arg("tau"), "indptr, indices and values of the symmetric matrix r_i r_j (cosine - tau).");
  nb::class_<SimilarMatrix>(
      m, "SimilarMatrix", "A symmetric matrix S of similarities, from compressed rows of ascending columns.")
      .def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const float>>(), nb::arg("indptr"),
           nb::arg("indices"), nb::arg("values"))
      .def("residual_product", &SimilarMatrix::residual_product, nb::arg("left"), nb::arg("right"),
           nb::arg("v"), nb::arg("threads"),
           "(L - Z) v for L = left right^T, which is symmetric, and Z = S where that is not zero, min(0, L) "
           "elsewhere; and the sums of max(0, L) and its square where S is zero, of L, its square and (S - "
           "L)^2 "
           "where it is not.")
      .def("support_product", &SimilarMatrix::support_product, nb::arg("v"), nb::arg("threads"),
           "The sum of v_j over the entries of S in each row.");
}

}  // namespace winkel
