// Compressed rows (CSR): whether arrays from outside are some, so that reading them stays within bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace winkel {

template <class T>
struct SparseRows {
  const int64_t* indptr;
  const int32_t* indices;
  const T* values;
  int64_t n;
  int64_t n_features;
};

enum class CompressedFault { none, starts, column };

// Row starts of `rows` rows must rise from 0 to `entries`, and columns lie in [0, columns).
template <class Index>
CompressedFault check_compressed(const Index* starts, int64_t n_starts, int64_t rows, const int32_t* indices,
                                 int64_t entries, int64_t columns) {
  if (rows < 0 || n_starts != rows + 1 || starts[0] != 0 || static_cast<int64_t>(starts[rows]) != entries ||
      !std::is_sorted(starts, starts + n_starts))
    return CompressedFault::starts;
  const uint32_t limit = static_cast<uint32_t>(std::clamp<int64_t>(columns, 0, int64_t{1} << 31));
  bool outside = false;  // negative ones are large without their sign; without a branch this is vector code
  for (int64_t e = 0; e < entries; ++e) outside |= static_cast<uint32_t>(indices[e]) >= limit;
  return outside ? CompressedFault::column : CompressedFault::none;
}

// Whether the columns of every row ascend, without repeats.
template <class Index>
bool columns_ascend(const Index* starts, int64_t rows, const int32_t* indices) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t e = static_cast<int64_t>(starts[i]) + 1; e < static_cast<int64_t>(starts[i + 1]); ++e)
      if (indices[e - 1] >= indices[e]) return false;
  return true;
}

// Whether entry (j, i) is there, with the same value, for every entry (i, j) of rows whose columns ascend:
// rows are met in order, so that each row's entries are asked for in the order they stand in.
template <class Index, class T>
bool is_symmetric(const Index* starts, int64_t n, const int32_t* indices, const T* values) {
  std::vector<Index> next(starts, starts + n);
  for (int64_t i = 0; i < n; ++i) {
    for (Index e = starts[i]; e < starts[i + 1]; ++e) {
      const int32_t j = indices[e];
      const Index other = next[static_cast<size_t>(j)]++;
      if (other >= starts[j + 1] || indices[other] != i || !(values[other] == values[e])) return false;
    }
  }
  return true;
}

}  // namespace winkel
