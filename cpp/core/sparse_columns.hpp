// The columns of a sparse matrix (CSR) as lists: those that have entries, numbered in ascending order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compressed.hpp"

namespace winkel {

template <class T>
class SparseColumns {
 public:
  struct Entry {
    int32_t row;
    T value;
  };

  explicit SparseColumns(const SparseRows<T>& x)
      : used_(x.indices, x.indices + x.indptr[x.n]), number_(used_) {
    std::sort(used_.begin(), used_.end());
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
    start_.assign(used_.size() + 1, 0);
    for (int32_t& c : number_) ++start_[static_cast<size_t>(c = find(c)) + 1];
    for (size_t c = 1; c < start_.size(); ++c) start_[c] += start_[c - 1];
    std::vector<int64_t> next(start_.begin(), start_.end() - 1);
    entries_.resize(number_.size());
    for (int64_t i = 0; i < x.n; ++i)
      for (int64_t e = x.indptr[i]; e < x.indptr[i + 1]; ++e)
        entries_[static_cast<size_t>(next[static_cast<size_t>(number(e))]++)] = {static_cast<int32_t>(i),
                                                                                 x.values[e]};
  }

  int64_t count() const { return static_cast<int64_t>(used_.size()); }

  // The number of a column of the matrix, or -1 when it has no entry.
  int32_t find(int32_t column) const {
    const auto at = std::lower_bound(used_.begin(), used_.end(), column);
    return at == used_.end() || *at != column ? -1 : static_cast<int32_t>(at - used_.begin());
  }

  // The number of the column of an entry of the matrix.
  int32_t number(int64_t entry) const { return number_[static_cast<size_t>(entry)]; }
  const int32_t* numbers() const { return number_.data(); }

  // Entries of a column, rows ascending.
  const Entry* begin(int32_t c) const { return entries_.data() + start_[static_cast<size_t>(c)]; }
  const Entry* end(int32_t c) const { return entries_.data() + start_[static_cast<size_t>(c) + 1]; }

 private:
  std::vector<int32_t> used_, number_;
  std::vector<int64_t> start_;
  std::vector<Entry> entries_;
};

}  // namespace winkel
