// Checks of what Python hands over, shared by the bindings: after them no kernel reads out of bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "bindings.hpp"
#include "core/compressed.hpp"
#include "core/sparse_knn.hpp"

namespace winkel {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

inline void require_threads(int threads) {
  require(threads >= 1, "threads must be at least 1");
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
  require_compressed(indptr, indices, n, n_features);
  require(rows_in(values) == rows_in(indices), "not a CSR matrix: there must be one value an entry");
  return {indptr.data(), indices.data(), values.data(), n, n_features};
}

}  // namespace winkel
