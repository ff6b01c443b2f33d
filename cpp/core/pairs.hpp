// The average distortion of a list of pairs and its gradient, in one pass.
//
// Each pair is stored twice, once with each of its items, so that every gradient row is summed by one owner
// in one order: no atomics, and the same bytes for any number of threads. Rows are packed sixteen to a slice
// (lane = row), the neighbours of a slice lie column after column, and all three steps of a slice run over
// lanes:
//
//     gather the differences  ->  distortion loop (factors, values)  ->  add factor x difference to the lanes
//
// Rows of like length share a slice, and rows longer than kLongest are cut into segments that are added up
// afterwards. Items are renumbered by a caller's order so that neighbours in the graph are neighbours in
// memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "distortion.hpp"
#include "parallel.hpp"

namespace winkel {

constexpr int64_t kLongest = 128;  // neighbours in one segment of a row, at most
constexpr int64_t kWindow =
    64 * 16;  // rows are sorted by length within windows of so many, which keeps them local
constexpr int64_t kSlicesPerBlock = 32;

// Pairs with one distortion, packed.
template <class T>
struct PairGroup {
  DistortionLoop<T> loop = nullptr;
  DistortionParams params;
  std::vector<int64_t> start;        // slice -> first entry; one more at the end
  std::vector<int32_t> row, target;  // lane -> its item, and the row of the sums it adds to
  std::vector<int32_t> length;       // lane -> neighbours
  std::vector<int32_t> neighbor;     // entry -> item, times the number of components
  std::vector<T> weight, deviation;  // entry -> data of its pair; empty when all are alike
  std::vector<int64_t> pair;         // entry -> pair, only for factors given from outside
  std::vector<int32_t> split;        // items in several segments ...
  std::vector<int32_t> split_start;  // ... and where their rows of `target` begin; one more at the end
  T common_weight = T(1);
};

namespace pairs {

// Differences of the rows of a slice and their neighbours, coordinate by coordinate, and their squared
// lengths.
template <class T>
WINKEL_CLONES void differences(const T* Y, int64_t m, const int32_t* neighbor, const T* own, int64_t columns,
                               T* diff, T* squares) {
  for (int64_t c = 0; c < m; ++c) {
    const T* coordinate = Y + c;
    T* out = diff + c * kChunk;
    for (int64_t k = 0; k < columns; ++k) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const T x = own[c * kLanes + l] - coordinate[neighbor[k * kLanes + l]];
        out[k * kLanes + l] = x;
      }
    }
    for (int64_t k = 0; k < columns * kLanes; ++k)
      squares[k] = (c == 0 ? T(0) : squares[k]) + out[k] * out[k];
  }
}

template <class T, int M>
WINKEL_CLONES void differences_of(const T* Y, const int32_t* neighbor, const T* own, int64_t columns, T* diff,
                                  T* squares) {
  for (int64_t k = 0; k < columns; ++k) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t e = k * kLanes + l;
      const T* other = Y + neighbor[e];
      T square = T(0);
      for (int c = 0; c < M; ++c) {
        const T x = own[c * kLanes + l] - other[c];
        diff[c * kChunk + e] = x;
        square += x * x;
      }
      squares[e] = square;
    }
  }
}

// sums[c][lane] += factor * difference over the columns.
template <class T>
WINKEL_CLONES void accumulate(const T* diff, const T* factors, int64_t m, int64_t columns, T* sums) {
  for (int64_t c = 0; c < m; ++c) {
    T lane[kLanes];
    for (int64_t l = 0; l < kLanes; ++l) lane[l] = sums[c * kLanes + l];
    const T* x = diff + c * kChunk;
    for (int64_t k = 0; k < columns; ++k) {
      for (int64_t l = 0; l < kLanes; ++l) lane[l] += factors[k * kLanes + l] * x[k * kLanes + l];
    }
    for (int64_t l = 0; l < kLanes; ++l) sums[c * kLanes + l] = lane[l];
  }
}

// weight where the lane has a neighbour in this column, else zero.
template <class T>
WINKEL_CLONES void lane_weights(const int32_t* length, int64_t first, int64_t columns, T weight, T* out) {
  for (int64_t k = 0; k < columns; ++k) {
    for (int64_t l = 0; l < kLanes; ++l) out[k * kLanes + l] = first + k < length[l] ? weight : T(0);
  }
}

}  // namespace pairs

// Euclidean distance of each pair of rows.
template <class T>
void pair_distances(const int32_t* edges, int64_t count, const T* Y, int64_t m, int threads, T* out) {
  parallel_blocks(count, 4096, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t e = lo; e < hi; ++e) {
      const T* a = Y + int64_t{edges[2 * e]} * m;
      const T* b = Y + int64_t{edges[2 * e + 1]} * m;
      T square = T(0);
      for (int64_t c = 0; c < m; ++c) square += (a[c] - b[c]) * (a[c] - b[c]);
      out[e] = std::sqrt(square);
    }
  });
}

template <class T>
class PairPlan {
 public:
  // `order[r]` is the caller's number of the item that is worked on as row r.
  PairPlan(int64_t n, int64_t m, std::vector<int32_t> order)
      : n_(n), m_(m), order_(std::move(order)), place_(order_.size()) {
    for (int64_t r = 0; r < n; ++r)
      place_[static_cast<size_t>(order_[static_cast<size_t>(r)])] = static_cast<int32_t>(r);
    columns_ = std::clamp<int64_t>(8192 / (kLanes * m), 1, kChunk / kLanes);
  }

  int64_t items() const { return n_; }
  int64_t components() const { return m_; }
  int64_t pairs_with_factors() const { return pairs_with_factors_; }

  // Adds pairs (2 x count, in the caller's numbers). weights and deviations may be null.
  void add(DistortionLoop<T> loop, const DistortionParams& params, const int32_t* edges, int64_t count,
           const double* weights, double common_weight, const double* deviations) {
    PairGroup<T> g;
    g.loop = loop;
    g.params = params;
    g.common_weight = static_cast<T>(common_weight);
    const std::vector<int64_t> from = pack_rows(g, edges, count);
    const size_t size = g.neighbor.size();
    if (weights != nullptr) g.weight.assign(size, T(0));
    if (deviations != nullptr) g.deviation.assign(size, T(1));
    if (loop == nullptr) g.pair.assign(size, -1), pairs_with_factors_ = std::max(pairs_with_factors_, count);
    for (size_t e = 0; e < size; ++e) {
      if (from[e] < 0) continue;
      const size_t k = static_cast<size_t>(from[e]);
      if (weights != nullptr) g.weight[e] = static_cast<T>(weights[k]);
      if (deviations != nullptr) g.deviation[e] = static_cast<T>(deviations[k]);
      if (loop == nullptr) g.pair[e] = from[e];
    }
    groups_.push_back(std::move(g));
  }

  // Sum over pairs of w f(d), with the gradient of scale times it in `gradient` (n x m, the caller's order).
  // `factors` holds w f'(d) / d of each pair for groups without a loop of their own (whose values are not
  // summed).
  double evaluate(const T* Y, T scale, const T* factors, int threads, T* gradient) const {
    std::vector<T> local(static_cast<size_t>(n_ * m_));
    parallel_blocks(n_, 4096, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t r = lo; r < hi; ++r) {
        const T* y = Y + int64_t{order_[static_cast<size_t>(r)]} * m_;
        std::copy(y, y + m_, local.data() + r * m_);
      }
    });
    double sum = 0.0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      sum += run(groups_[g], local.data(), scale, factors, threads, g > 0, gradient);
    }
    return 0.5 * sum;  // every pair was seen from both its ends
  }

 private:
  double run(const PairGroup<T>& g, const T* Y, T scale, const T* factors, int threads, bool add,
             T* gradient) const {
    const int64_t slices = static_cast<int64_t>(g.start.size()) - 1;
    std::vector<T> pieces(static_cast<size_t>(g.split_start.back() * m_));
    const double sum = parallel_sum(slices, kSlicesPerBlock, threads, [&](int64_t lo, int64_t hi) {
      std::vector<T> work(static_cast<size_t>(2 * kLanes * m_ + kChunk * (m_ + 3)), T(1));
      double part = 0.0;
      for (int64_t s = lo; s < hi; ++s)
        part += slice(g, s, Y, scale, factors, add, work.data(), pieces.data(), gradient);
      return part;
    });
    for (size_t i = 0; i < g.split.size(); ++i) {
      T* out = gradient + int64_t{order_[static_cast<size_t>(g.split[i])]} * m_;
      for (int64_t c = 0; c < m_; ++c) {
        T total = T(0);
        for (int32_t q = g.split_start[i]; q < g.split_start[i + 1]; ++q)
          total += pieces[static_cast<size_t>(q * m_ + c)];
        out[c] = add ? out[c] + total : total;
      }
    }
    return sum;
  }

  double slice(const PairGroup<T>& g, int64_t s, const T* Y, T scale, const T* factors_in, bool add, T* work,
               T* pieces, T* gradient) const {
    T* own = work;
    T* sums = own + kLanes * m_;
    T* squares = sums + kLanes * m_;
    T* factors = squares + kChunk;
    T* common = factors + kChunk;  // stays 1 where no weights are written: a stand-in for deviations
    T* diff = common + kChunk;
    const int32_t* length = g.length.data() + s * kLanes;
    for (int64_t l = 0; l < kLanes; ++l) {
      const T* y = Y + int64_t{g.row[static_cast<size_t>(s * kLanes + l)]} * m_;
      for (int64_t c = 0; c < m_; ++c) own[c * kLanes + l] = y[c], sums[c * kLanes + l] = T(0);
    }
    const int64_t first = g.start[static_cast<size_t>(s)];
    const int64_t columns = (g.start[static_cast<size_t>(s + 1)] - first) / kLanes;
    double value = 0.0;
    for (int64_t k = 0; k < columns; k += columns_) {
      const int64_t now = std::min(columns_, columns - k), at = first + k * kLanes;
      const int32_t* neighbor = g.neighbor.data() + at;
      if (m_ == 2) {
        pairs::differences_of<T, 2>(Y, neighbor, own, now, diff, squares);
      } else if (m_ == 3) {
        pairs::differences_of<T, 3>(Y, neighbor, own, now, diff, squares);
      } else {
        pairs::differences<T>(Y, m_, neighbor, own, now, diff, squares);
      }
      if (g.loop == nullptr) {
        for (int64_t e = 0; e < now * kLanes; ++e) {
          const int64_t pair = g.pair[static_cast<size_t>(at + e)];
          factors[e] = pair < 0 ? T(0) : factors_in[pair];
        }
      } else {
        const T* weight = common;
        if (g.weight.empty()) {
          pairs::lane_weights<T>(length, k, now, g.common_weight, common);
        } else {
          weight = g.weight.data() + at;
        }
        const T* deviation = g.deviation.empty() ? weight : g.deviation.data() + at;
        value += g.loop(squares, weight, deviation, now * kLanes, &g.params, factors);
      }
      pairs::accumulate<T>(diff, factors, m_, now, sums);
    }
    write(g, s, scale, add, sums, pieces, gradient);
    return value;
  }

  void write(const PairGroup<T>& g, int64_t s, T scale, bool add, const T* sums, T* pieces,
             T* gradient) const {
    for (int64_t l = 0; l < kLanes; ++l) {
      const size_t lane = static_cast<size_t>(s * kLanes + l);
      const int64_t target = g.target[lane];
      if (target < 0) continue;
      if (target >= n_) {
        for (int64_t c = 0; c < m_; ++c) pieces[(target - n_) * m_ + c] = scale * sums[c * kLanes + l];
        continue;
      }
      T* out = gradient + int64_t{order_[static_cast<size_t>(target)]} * m_;
      for (int64_t c = 0; c < m_; ++c) out[c] = (add ? out[c] : T(0)) + scale * sums[c * kLanes + l];
    }
  }

  // Fills the layout of a group and gives the pair of each entry (-1 for padding).
  std::vector<int64_t> pack_rows(PairGroup<T>& g, const int32_t* edges, int64_t count) const {
    const auto at = [](auto& v, int64_t i) -> auto& { return v[static_cast<size_t>(i)]; };
    std::vector<int64_t> begin(static_cast<size_t>(n_ + 1), 0), pair_of(static_cast<size_t>(2 * count));
    std::vector<int32_t> other(static_cast<size_t>(2 * count));
    for (int64_t e = 0; e < 2 * count; ++e) ++at(begin, at(place_, edges[e]) + 1);
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for (int64_t e = 0; e < count; ++e) {
      const int32_t i = at(place_, edges[2 * e]), j = at(place_, edges[2 * e + 1]);
      const int64_t p = at(next, i)++, q = at(next, j)++;
      at(other, p) = j, at(pair_of, p) = e;
      at(other, q) = i, at(pair_of, q) = e;
    }

    struct Segment {
      int32_t row, target, length;
      int64_t begin;
    };
    std::vector<Segment> segments;
    segments.reserve(static_cast<size_t>(n_));
    g.split_start.push_back(0);
    for (int64_t r = 0; r < n_; ++r) {
      const int64_t lo = at(begin, r), hi = at(begin, r + 1);
      const int32_t row = static_cast<int32_t>(r);
      if (hi - lo <= kLongest) {
        segments.push_back({row, row, static_cast<int32_t>(hi - lo), lo});
        continue;
      }
      int32_t piece = g.split_start.back();
      for (int64_t p = lo; p < hi; p += kLongest, ++piece) {
        segments.push_back(
            {row, static_cast<int32_t>(n_ + piece), static_cast<int32_t>(std::min(kLongest, hi - p)), p});
      }
      g.split.push_back(row);
      g.split_start.push_back(piece);
    }
    const int64_t total = static_cast<int64_t>(segments.size());
    for (int64_t w = 0; w < total; w += kWindow) {
      std::stable_sort(segments.begin() + w, segments.begin() + std::min(total, w + kWindow),
                       [](const Segment& a, const Segment& b) { return a.length > b.length; });
    }

    std::vector<int64_t> from;
    g.start.push_back(0);
    for (int64_t s = 0; s < total; s += kLanes) {
      const int64_t lanes = std::min(kLanes, total - s);
      int64_t columns = 0;
      for (int64_t l = 0; l < kLanes; ++l) {
        const Segment seg = l < lanes ? at(segments, s + l) : Segment{at(segments, s).row, -1, 0, 0};
        g.row.push_back(seg.row), g.target.push_back(seg.target), g.length.push_back(seg.length);
        columns = std::max<int64_t>(columns, seg.length);
      }
      for (int64_t k = 0; k < columns; ++k) {
        for (int64_t l = 0; l < kLanes; ++l) {
          const bool real = l < lanes && k < at(segments, s + l).length;
          const int64_t p = real ? at(segments, s + l).begin + k : -1;
          const int32_t item = real ? at(other, p) : at(g.row, s + l);
          g.neighbor.push_back(static_cast<int32_t>(item * m_));
          from.push_back(real ? at(pair_of, p) : -1);
        }
      }
      g.start.push_back(static_cast<int64_t>(from.size()));
    }
    return from;
  }

  int64_t n_, m_, columns_, pairs_with_factors_ = 0;
  std::vector<int32_t> order_, place_;
  std::vector<PairGroup<T>> groups_;
};

}  // namespace winkel
