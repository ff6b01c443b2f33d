// Exact nearest neighbours of new sparse rows, by the columns that they have entries in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "sparse_columns.hpp"
#include "sparse_distance.hpp"

namespace winkel {

template <class T>
class SparseQuery {
 public:
  SparseQuery(DistanceKind kind, const SparseRows<T>& q, const SparseRows<T>& x, int64_t k)
      : kind_(kind), q_(q), x_(x), k_(k), columns_(x), square_(static_cast<size_t>(x.n)) {
    int64_t longest = 0;
    for (int64_t j = 0; j < x.n; ++j) {
      longest = std::max(longest, x.indptr[j + 1] - x.indptr[j]);
      for (int64_t e = x.indptr[j]; e < x.indptr[j + 1]; ++e)
        square_[at(j)] += product(x.values[e], x.values[e]);
    }
    rounding_ = static_cast<double>(longest + 16) * 0x1p-50;
  }

  // The k nearest rows of x for each row of q, nearest first, of equally near ones the first; k ≤ x.n.
  void run(int32_t* index, T* distance, int threads) const {
    parallel_blocks(q_.n, 16, threads, [&](int64_t lo, int64_t hi) {
      std::vector<double> products(at(x_.n)), low(at(x_.n)), high(at(x_.n));
      std::vector<std::pair<double, int64_t>> found;
      for (int64_t i = lo; i < hi; ++i) {
        poll();
        bound(i, products, low, high);
        // At least k rows are no farther than this, so that rows which cannot be as near need no second look.
        std::nth_element(high.begin(), high.begin() + (k_ - 1), high.end());
        const double reach = high[at(k_ - 1)];
        found.clear();
        for (int64_t j = 0; j < x_.n; ++j)
          if (low[at(j)] <= reach) found.emplace_back(sparse_distance(kind_, q_, i, x_, j), j);
        std::partial_sort(found.begin(), found.begin() + k_, found.end());
        for (int64_t s = 0; s < k_; ++s) {
          index[i * k_ + s] = static_cast<int32_t>(found[at(s)].second);
          distance[i * k_ + s] = static_cast<T>(found[at(s)].first);
        }
      }
    });
  }

 private:
  static constexpr double kTiny = 1e-280;  // squares below lose digits
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  static size_t at(int64_t i) { return static_cast<size_t>(i); }
  static double product(T a, T b) { return static_cast<double>(a) * static_cast<double>(b); }

  // Bounds on the squared distance of row i to each point (for cosine: of their directions), by one product
  // each, summed in the order of the columns. `products` is a place to work in.
  void bound(int64_t i, std::vector<double>& products, std::vector<double>& low,
             std::vector<double>& high) const {
    double square = 0.0;
    std::fill(products.begin(), products.end(), 0.0);
    for (int64_t e = q_.indptr[i]; e < q_.indptr[i + 1]; ++e) {
      square += product(q_.values[e], q_.values[e]);
      const int32_t c = columns_.find(q_.indices[e]);
      if (c < 0) continue;
      for (const auto* p = columns_.begin(c); p != columns_.end(c); ++p)
        products[at(p->row)] += product(p->value, q_.values[e]);
    }
    for (int64_t j = 0; j < x_.n; ++j) {
      const double dot = products[at(j)];
      double middle = square + square_[at(j)] - 2.0 * dot, error = rounding_ * (square + square_[at(j)]);
      if (kind_ == DistanceKind::cosine) {
        const bool known = std::min(square, square_[at(j)]) > kTiny;  // else anything from 0 to 4 is possible
        middle = known ? 2.0 - 2.0 * dot / (std::sqrt(square) * std::sqrt(square_[at(j)])) : 2.0;
        error = known ? 2.0 * rounding_ : 2.0;
      }
      const bool finite = std::abs(middle) + error < kInfinite;  // squares of large numbers overflow
      low[at(j)] = finite ? middle - error - kTiny : -kInfinite;
      high[at(j)] = finite ? middle + error + kTiny : kInfinite;
    }
  }

  DistanceKind kind_;
  SparseRows<T> q_, x_;
  int64_t k_;
  SparseColumns<T> columns_;
  std::vector<double> square_;
  double rounding_;
};

}  // namespace winkel
