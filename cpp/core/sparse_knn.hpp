// Exact nearest neighbours among sparse rows (CSR). The products of a row with all others are made from the
// columns it has entries in; where that is more work than going through the matrix once for sixteen rows,
// these are laid out side by side. Either way a product is summed in the order of its columns: the same
// bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bounded_lists.hpp"
#include "compressed.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "sparse_columns.hpp"

namespace winkel {

namespace sparse {

constexpr int kQueries = 16;      // rows that are searched for together
constexpr int64_t kSlice = 64;    // points whose distances are looked at together
constexpr double kScatter = 0.1;  // time of a scattered product over that of an entry gone through

// Distances of one sparse row to sixteen that stand side by side in `dense`; whether any is within its limit.
WINKEL_CLONES bool measure_queries(const int32_t* columns, const float* values, int64_t count,
                                   const float* dense, float norm, const float* q_norm, const float* limit,
                                   float* out) {
  float acc[kQueries] = {};
  for (int64_t k = 0; k < count; ++k) {
    const float* column = dense + int64_t{columns[k]} * kQueries;
    const float v = values[k];
    for (int l = 0; l < kQueries; ++l) acc[l] += v * column[l];
  }
  int any = 0;
  for (int l = 0; l < kQueries; ++l) {
    out[l] = (q_norm[l] + norm) - 2.0f * acc[l];
    any |= out[l] <= limit[l];
  }
  return any != 0;
}

// Makes distances of products, in place; whether any is within the limit.
WINKEL_CLONES bool measure_points(float* products, const float* norm, int64_t count, float q_norm,
                                  float limit) {
  int any = 0;
  for (int64_t j = 0; j < count; ++j) {
    products[j] = (q_norm + norm[j]) - 2.0f * products[j];
    any |= products[j] <= limit;
  }
  return any != 0;
}

}  // namespace sparse

// Sparse points with their columns as lists, made once; searched a range of rows at a time.
class SparseSearcher {
 public:
  SparseSearcher(const SparseRows<float>& x, const float* norm, int width)
      : n_(x.n),
        indptr_(x.indptr, x.indptr + x.n + 1),
        values_(x.values, x.values + indptr_.back()),
        norm_(norm, norm + x.n),
        columns_(x),
        lists_(x.n, width) {}

  int64_t size() const { return n_; }
  const BoundedLists& lists() const { return lists_; }

  // Offers every other point to the lists of rows [first, last).
  void run(int64_t first, int64_t last, int threads) {
    std::vector<Scratch> scratch(static_cast<size_t>(threads));
    parallel_blocks(last - first, sparse::kQueries, threads, [&](int64_t lo, int64_t hi) {
      Scratch& own = scratch[static_cast<size_t>(thread_id())];
      double scattered = 0.0;
      for (int64_t e = indptr_[at(first + lo)]; e < indptr_[at(first + hi)]; ++e)
        scattered +=
            static_cast<double>(columns_.end(columns_.number(e)) - columns_.begin(columns_.number(e)));
      if (sparse::kScatter * scattered < static_cast<double>(values_.size()))
        for (int64_t i = first + lo; i < first + hi; ++i) by_columns(i, own);
      else
        side_by_side(first + lo, first + hi, own);
    });
  }

 private:
  struct Scratch {
    std::vector<float> products, dense;  // zeros between uses
  };

  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  float limit(int64_t i) const { return NeighborKey::distance(lists_.last(i)); }

  void offer(int64_t i, int64_t j, float distance) {
    if (i != j) lists_.offer(i, NeighborKey::make(distance, i, j, n_));
  }

  void by_columns(int64_t i, Scratch& own) {
    poll();
    own.products.resize(at(n_), 0.0f);
    float* products = own.products.data();
    for (int64_t e = indptr_[at(i)]; e < indptr_[at(i) + 1]; ++e) {
      const int32_t c = columns_.number(e);
      const float v = values_[at(e)];
      for (const auto* p = columns_.begin(c); p != columns_.end(c); ++p) products[p->row] += v * p->value;
    }
    const auto measure = kernel<sparse::measure_points>();
    for (int64_t j0 = 0; j0 < n_; j0 += sparse::kSlice) {
      const int64_t count = std::min(sparse::kSlice, n_ - j0);
      if (measure(products + j0, norm_.data() + j0, count, norm_[at(i)], limit(i)))
        for (int64_t j = j0; j < j0 + count; ++j) offer(i, j, products[j]);
    }
    std::fill_n(products, n_, 0.0f);
  }

  void side_by_side(int64_t first, int64_t last, Scratch& own) {
    own.dense.resize(at(columns_.count() * sparse::kQueries), 0.0f);
    const auto each = [&](const auto& body) {
      for (int64_t i = first; i < last; ++i)
        for (int64_t e = indptr_[at(i)]; e < indptr_[at(i) + 1]; ++e)
          body(own.dense[at(int64_t{columns_.number(e)} * sparse::kQueries + i - first)], values_[at(e)]);
    };
    each([](float& place, float value) { place = value; });
    float q_norm[sparse::kQueries] = {}, limits[sparse::kQueries], distance[sparse::kQueries];
    for (int64_t l = 0; l < sparse::kQueries; ++l) {
      q_norm[l] = first + l < last ? norm_[at(first + l)] : 0.0f;
      limits[l] = first + l < last ? limit(first + l) : -1.0f;
    }
    const auto measure = kernel<sparse::measure_queries>();
    for (int64_t j = 0; j < n_; ++j) {
      if (j % 1024 == 0) poll();
      const int64_t begin = indptr_[at(j)];
      if (!measure(columns_.numbers() + begin, values_.data() + begin, indptr_[at(j) + 1] - begin,
                   own.dense.data(), norm_[at(j)], q_norm, limits, distance))
        continue;
      for (int64_t l = 0; l < last - first; ++l) {
        if (!(distance[l] <= limits[l])) continue;
        offer(first + l, j, distance[l]);
        limits[l] = limit(first + l);
      }
    }
    each([](float& place, float) { place = 0.0f; });
  }

  int64_t n_;
  std::vector<int64_t> indptr_;
  std::vector<float> values_, norm_;
  SparseColumns<float> columns_;
  BoundedLists lists_;
};

}  // namespace winkel
