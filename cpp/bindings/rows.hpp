// What the bindings of the neighbour search share: checks, and CSR rows that are safe to read.
#pragma once

#include <stdexcept>

#include "bindings.hpp"
#include "core/sparse_knn.hpp"

namespace winkel {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

template <class Array>
int64_t rows_in(const Array& x) {
  return static_cast<int64_t>(x.shape(0));
}

inline void require_index_range(int64_t n) {
  require(n < (int64_t{1} << 31), "at most 2**31 - 1 rows");
}

template <class T>
SparseRows<T> sparse_rows(const Vec<const int64_t>& indptr, const Vec<const int32_t>& indices,
                          const Vec<const T>& values, int64_t n_features) {
  const int64_t n = rows_in(indptr) - 1, nnz = rows_in(indices);
  require(n >= 0 && rows_in(values) == nnz && indptr.data()[0] == 0 && indptr.data()[n] == nnz,
          "not a CSR matrix");
  require_index_range(n);
  for (int64_t i = 0; i < n; ++i) require(indptr.data()[i] <= indptr.data()[i + 1], "not a CSR matrix");
  for (int64_t k = 0; k < nnz; ++k)
    require(indices.data()[k] >= 0 && indices.data()[k] < n_features, "column out of range");
  return {indptr.data(), indices.data(), values.data(), n, n_features};
}

}  // namespace winkel
