// Checks of what Python hands over, shared by the bindings: after them no kernel reads out of bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "bindings.hpp"
#include "core/compressed.hpp"

namespace winkel {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

template <class Array>
int64_t rows_in(const Array& x) {
  return static_cast<int64_t>(x.shape(0));
}

template <class Array>
int64_t columns_in(const Array& x) {
  return static_cast<int64_t>(x.shape(1));
}

inline void require_index_range(int64_t n) {
  require(n < (int64_t{1} << 31), "at most 2**31 - 1 rows");
}

inline void require_range(const int32_t* values, size_t count, int64_t low, int64_t end, const char* what) {
  if (count == 0) return;
  const auto [least, most] = std::minmax_element(values, values + count);
  require(*least >= low && *most < end, what);
}

// Whether all numbers are finite: x - x is 0, or NaN where x is not, and the sum of zeros stays 0.
template <class Array>
void require_finite(const Array& x, const char* what) {
  using T = std::remove_const_t<typename Array::Scalar>;
  const auto* values = x.data();
  T gap[16] = {};
  const size_t whole = x.size() / 16 * 16;
  for (size_t k = 0; k < whole; k += 16)
    for (size_t l = 0; l < 16; ++l) gap[l] += values[k + l] - values[k + l];
  for (size_t k = whole; k < x.size(); ++k) gap[k - whole] += values[k] - values[k];
  for (T lane : gap) require(lane == T(0), what);
}

template <class Array>
void require_at_least(const Array& x, double least, const char* what) {
  for (size_t k = 0; k < x.size(); ++k) require(static_cast<double>(x.data()[k]) >= least, what);
}

// Every one of [0, n) once.
template <class Index>
void require_permutation(const Vec<const Index>& order, int64_t n, const char* what) {
  require(rows_in(order) == n, what);
  std::vector<char> seen(static_cast<size_t>(n), 0);
  for (int64_t k = 0; k < n; ++k) {
    const int64_t place = order.data()[k];
    require(place >= 0 && place < n && seen[static_cast<size_t>(place)] == 0, what);
    seen[static_cast<size_t>(place)] = 1;
  }
}

// Compressed rows of a matrix of `rows` x `columns`.
template <class Index>
void require_compressed(const Vec<const Index>& indptr, const Vec<const int32_t>& indices, int64_t rows,
                        int64_t columns) {
  switch (check_compressed(indptr.data(), rows_in(indptr), rows, indices.data(), rows_in(indices), columns)) {
    case CompressedFault::starts:
      throw std::invalid_argument("not a CSR matrix: indptr must rise from 0 to the number of entries");
    case CompressedFault::column:
      throw std::invalid_argument("not a CSR matrix: column out of range");
    default:
      return;
  }
}

template <class T>
SparseRows<T> sparse_rows(const Vec<const int64_t>& indptr, const Vec<const int32_t>& indices,
                          const Vec<const T>& values, int64_t n_features) {
  const int64_t n = rows_in(indptr) - 1;
  require_index_range(n);
  require(n_features >= 0 && n_features < (int64_t{1} << 31), "at most 2**31 - 1 columns");
  require_compressed(indptr, indices, n, n_features);
  require(columns_ascend(indptr.data(), n, indices.data()),
          "not a canonical CSR matrix: columns must ascend in every row");
  require_finite(values, "values must be finite");
  require(rows_in(values) == rows_in(indices), "not a CSR matrix: there must be one value an entry");
  return {indptr.data(), indices.data(), values.data(), n, n_features};
}

}  // namespace winkel
