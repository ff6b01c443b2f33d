// Ranks of all points as seen from a few rows at a time: distances to every point, their order, and what two
// orders of the same points have in common. Distances are search distances in float32; where these are too
// close to tell two points apart, true distances in double decide, and equal ones stand in cyclic order of
// index.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "exact_knn.hpp"
#include "parallel.hpp"
#include "refine.hpp"
#include "select.hpp"
#include "simd.hpp"

namespace winkel {

// The row part of a tile: up to 8 queries from `first` on.
class QueryGroup {
 public:
  QueryGroup(const Points& queries, int64_t first) {
    tile.n_rows = static_cast<int>(std::min<int64_t>(kTileRows, queries.n - first));
    tile.n_features = queries.n_features;
    for (int r = 0; r < kTileRows; ++r) {
      const int64_t i = first + std::min(r, tile.n_rows - 1);
      tile.rows[r] = queries.row(i);
      norm_[r] = queries.norm[i];
    }
    tile.row_norm = norm_;
  }
  QueryGroup(const QueryGroup&) = delete;
  QueryGroup& operator=(const QueryGroup&) = delete;

  Tile tile{};

 private:
  float norm_[kTileRows];
};

// Search distances of any rows to all points, which are packed as panels once.
class DistanceRows {
 public:
  explicit DistanceRows(const Points& x) : x_(x), panels_(x_, 0, x.n) {}
  DistanceRows(const DistanceRows&) = delete;
  DistanceRows& operator=(const DistanceRows&) = delete;

  int64_t size() const { return x_.n; }
  int n_features() const { return x_.n_features; }
  MetricKind metric() const { return x_.metric; }

  // Writes b × n distances of the queries; a query that is point `origins[i]` is at distance 0 from itself.
  void fill(const Points& queries, const int64_t* origins, float* out, int threads) const {
    const int64_t block = PanelBlock::columns(x_.n_features);
    parallel_blocks(x_.n, block, threads, [&](int64_t lo, int64_t hi) {
      float part[kTileRows * kTileCols];
      for (int64_t i0 = 0; i0 < queries.n; i0 += kTileRows) {
        poll();
        QueryGroup group(queries, i0);
        Tile& tile = group.tile;
        for (int64_t c0 = lo; c0 < hi; c0 += kTileCols) {
          panels_.aim(tile, c0);
          tile_distances(x_.metric, tile, part);
          for (int r = 0; r < tile.n_rows; ++r)
            std::memcpy(out + (i0 + r) * x_.n + c0, part + r * kTileCols,
                        sizeof(float) * static_cast<size_t>(tile.n_cols));
        }
      }
      for (int64_t i = 0; i < queries.n; ++i)
        if (origins[i] >= lo && origins[i] < hi) out[i * x_.n + origins[i]] = 0.0f;
    });
  }

 private:
  Points x_;
  PanelBlock panels_;
};

// Stable sorting by the bits of numbers that are not negative, which order as the numbers do.
template <class T>
class RankSorter {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  struct Item {
    Bits key;
    int32_t index;
  };
  static constexpr int kDigit = 11, kBuckets = 1 << kDigit;
  static constexpr int kPasses = (8 * static_cast<int>(sizeof(T)) + kDigit - 1) / kDigit;

 public:
  // Ranks 1, 2, ... of the n points by their distances d; the row itself, `origin`, has rank 0. Equal
  // distances rank in cyclic order of index from the row on (from 0 for an origin of -1, a row of its own).
  void rank(const T* d, int64_t n, int64_t origin, int32_t* ranks) {
    items_.resize(static_cast<size_t>(n));
    spare_.resize(static_cast<size_t>(n));
    counts_.assign(static_cast<size_t>(kPasses) * kBuckets, 0);
    size_t count = 0;
    const auto add = [&](int64_t from, int64_t to) {
      for (int64_t j = from; j < to; ++j) {
        Bits key;
        std::memcpy(&key, d + j, sizeof key);
        items_[count++] = {key, static_cast<int32_t>(j)};
        for (int p = 0; p < kPasses; ++p) ++counts_[at(p, key)];
      }
    };
    add(origin + 1, n);
    add(0, origin);
    if (origin >= 0) ranks[origin] = 0;
    for (int p = 0; p < kPasses; ++p) {
      int32_t* start = counts_.data() + p * kBuckets;
      int32_t total = 0;
      for (int b = 0; b < kBuckets; ++b) {
        const int32_t here = start[b];
        start[b] = total;
        total += here;
      }
      const bool last = p == kPasses - 1;
      for (size_t s = 0; s < count; ++s) {
        const int32_t place = counts_[at(p, items_[s].key)]++;
        if (last)
          ranks[items_[s].index] = place + 1;
        else
          spare_[static_cast<size_t>(place)] = items_[s];
      }
      items_.swap(spare_);
    }
  }

 private:
  static size_t at(int pass, Bits key) {
    return static_cast<size_t>(pass * kBuckets) + static_cast<size_t>((key >> (pass * kDigit)) % kBuckets);
  }
  std::vector<Item> items_, spare_;
  std::vector<int32_t> counts_;
};

// Ranks of every point in each of b rows of distances.
template <class T>
void rank_rows(const T* d, int64_t b, int64_t n, const int64_t* origins, int32_t* ranks, int threads) {
  std::vector<RankSorter<T>> sorters(static_cast<size_t>(threads));
  parallel_blocks(b, 1, threads, [&](int64_t i, int64_t) {
    sorters[static_cast<size_t>(thread_id())].rank(d + i * n, n, origins[i], ranks + i * n);
  });
}

// Two orders of the same points: for each row the sum of weights[r] over the points, r the larger of a
// point's two ranks; and over all rows how many points have which r.
inline void corank(const int32_t* first, const int32_t* second, int64_t b, int64_t n, const double* weights,
                   double* sums, int64_t* counts, int threads) {
  struct Entry {  // side by side, since both are looked up at once
    double weight;
    int64_t count;
  };
  std::vector<std::vector<Entry>> parts(static_cast<size_t>(threads));
  parallel_blocks(b, 1, threads, [&](int64_t i, int64_t) {
    std::vector<Entry>& part = parts[static_cast<size_t>(thread_id())];
    if (part.empty())
      for (int64_t r = 0; r <= n; ++r) part.push_back({weights[r], 0});
    const int32_t *p = first + i * n, *q = second + i * n;
    double lanes[4] = {};
    for (int64_t j = 0; j < n; ++j) {
      Entry& entry = part[static_cast<size_t>(std::max(p[j], q[j]))];
      lanes[j % 4] += entry.weight;
      ++entry.count;
    }
    sums[i] = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  });
  for (const auto& part : parts)  // whole numbers: the order of addition does not matter
    for (size_t r = 0; r < part.size(); ++r) counts[r] += part[r].count;
}

constexpr int kMomentLanes = 16;

struct Moments {
  double xx[kMomentLanes] = {}, xy[kMomentLanes] = {}, yy[kMomentLanes] = {};
};

// Adds squares and products of `count` (a multiple of 16) pairs of distances; `root` of those that are
// squares.
WINKEL_CLONES void add_moments(const float* x, const float* y, int64_t count, bool root_x, bool root_y,
                               Moments& sum) {
  for (int64_t j = 0; j < count; j += kMomentLanes) {
    for (int l = 0; l < kMomentLanes; ++l) {
      const float rx = std::sqrt(x[j + l]), ry = std::sqrt(y[j + l]);
      const double a = static_cast<double>(root_x ? rx : x[j + l]);
      const double b = static_cast<double>(root_y ? ry : y[j + l]);
      sum.xx[l] += a * a;
      sum.xy[l] += a * b;
      sum.yy[l] += b * b;
    }
  }
}

// Writes the sums of squares and products, xx, xy and yy, of two rows of distances.
inline void distance_moments(const float* x, const float* y, int64_t n, bool root_x, bool root_y,
                             double* out) {
  Moments sum;
  const int64_t whole = n / kMomentLanes * kMomentLanes;
  kernel<add_moments>()(x, y, whole, root_x, root_y, sum);
  float rest_x[kMomentLanes] = {}, rest_y[kMomentLanes] = {};
  std::copy(x + whole, x + n, rest_x);
  std::copy(y + whole, y + n, rest_y);
  kernel<add_moments>()(rest_x, rest_y, kMomentLanes, root_x, root_y, sum);
  out[0] = out[1] = out[2] = 0.0;
  for (int l = 0; l < kMomentLanes; ++l) {
    out[0] += sum.xx[l];
    out[1] += sum.xy[l];
    out[2] += sum.yy[l];
  }
}

struct Band {
  int32_t below, within;
};

// How many distances are below `low`, and how many from there up to `high`.
WINKEL_CLONES Band count_band(const float* d, int64_t n, float low, float high) {
  int32_t below = 0, up_to = 0;
  for (int64_t j = 0; j < n; ++j) {
    below += d[j] < low;
    up_to += d[j] <= high;
  }
  return {below, up_to - below};
}

// Rows and points as given, whose true distances decide what search distances cannot: a search distance is
// off by at most offset[i] + slope * distance.
template <class T>
struct TrueDistances {
  const T *rows, *points;
  int64_t n, n_features;
  const int64_t* origins;
  DistanceKind kind;
  const double* offset;
  double slope;

  double distance(int64_t i, int64_t j) const {
    return kernel<true_distance<T>>()(kind, rows + i * n_features, points + j * n_features, n_features);
  }
  int64_t turn(int64_t i, int64_t j) const { return j > origins[i] ? j - origins[i] : j - origins[i] + n; }

  // Search distances farther than this from `d` are surely on the same side of it as the true ones.
  double doubt(int64_t i, float d) const {
    const double largest = (static_cast<double>(d) + offset[i]) / (1.0 - slope);
    return 2.0 * (offset[i] + slope * largest);
  }
  float low(int64_t i, float d) const {
    const float edge = static_cast<float>(static_cast<double>(d) - doubt(i, d));
    return std::min(d, std::nextafterf(edge, -std::numeric_limits<float>::infinity()));
  }
  float high(int64_t i, float d) const {
    const float edge = static_cast<float>(static_cast<double>(d) + doubt(i, d));
    return std::max(d, std::nextafterf(edge, std::numeric_limits<float>::infinity()));
  }
};

// Exact ranks of some points, `targets`, among all in row i of distances; 0 for the row itself and for
// missing targets, which are -1.
template <class T>
void exact_ranks(const TrueDistances<T>& truth, int64_t i, const float* d, const int32_t* targets,
                 int64_t n_targets, int64_t* ranks) {
  constexpr int64_t slice = 256;
  const int64_t origin = truth.origins[i];
  std::vector<float> low(static_cast<size_t>(n_targets)), high(low);
  std::vector<double> apart(static_cast<size_t>(n_targets), -1.0);  // true distances, when needed
  for (int64_t t = 0; t < n_targets; ++t) {
    ranks[t] = targets[t] < 0 || targets[t] == origin ? 0 : 1;
    if (ranks[t] == 0) continue;
    low[static_cast<size_t>(t)] = truth.low(i, d[targets[t]]);
    high[static_cast<size_t>(t)] = truth.high(i, d[targets[t]]);
    ranks[t] -= origin >= 0 && d[origin] < low[static_cast<size_t>(t)];
  }
  for (int64_t lo = 0; lo < truth.n; lo += slice) {
    poll();
    const int64_t hi = std::min(truth.n, lo + slice);
    for (int64_t t = 0; t < n_targets; ++t) {
      const int64_t target = targets[t];
      if (target < 0 || target == origin) continue;
      const float from = low[static_cast<size_t>(t)], to = high[static_cast<size_t>(t)];
      const Band band = kernel<count_band>()(d + lo, hi - lo, from, to);
      ranks[t] += band.below;
      if (band.within <= (target >= lo && target < hi)) continue;
      double& reach = apart[static_cast<size_t>(t)];
      if (reach < 0.0) reach = truth.distance(i, target);
      for (int64_t j = lo; j < hi; ++j) {
        if (d[j] < from || d[j] > to || j == target || j == origin) continue;
        const double here = truth.distance(i, j);
        ranks[t] += here < reach || (here == reach && truth.turn(i, j) < truth.turn(i, target));
      }
    }
  }
}

WINKEL_CLONES bool any_up_to(const float* d, int64_t n, float limit) {
  int32_t any = 0;
  for (int64_t j = 0; j < n; ++j) any |= d[j] <= limit;
  return any != 0;
}

// The points of one row that are no farther than a limit; scratch memory of one thread.
class NearSet {
 public:
  // The k nearest points of row i, nearest first.
  template <class T>
  void nearest(const TrueDistances<T>& truth, int64_t i, const float* d, int64_t k, int32_t* index,
               double* distance) {
    const int64_t n = truth.n, origin = truth.origins[i];
    const float all = std::numeric_limits<float>::infinity();
    float reach = n > 64 * kStride ? truth.high(i, guess(d, n, origin, k)) : all;
    collect(d, n, origin, reach);
    if (static_cast<int64_t>(found_.size()) < k) collect(d, n, origin, reach = all);
    if (static_cast<int64_t>(found_.size()) < k) throw std::invalid_argument("distances must not be NaN");
    values_.clear();
    for (int32_t j : found_) values_.push_back(d[j]);
    // All that may be among the k nearest: no farther than the k-th, as far as rounding allows to say.
    const float limit = truth.high(i, nth(k - 1));
    if (limit > reach) collect(d, n, origin, limit);
    Selection best(origin, n, k);
    for (int32_t j : found_)
      if (d[j] <= limit) best.add(truth.distance(i, j), j);
    best.write(index, distance);
  }

 private:
  static constexpr int64_t kStride = 16, kSlice = 64;

  // About how far the k-th is, from some of the points; rather too far.
  float guess(const float* d, int64_t n, int64_t origin, int64_t k) {
    values_.clear();
    for (int64_t j = 0; j < n; j += kStride)
      if (j != origin && d[j] == d[j]) values_.push_back(d[j]);
    if (values_.empty()) return std::numeric_limits<float>::infinity();
    return nth(std::min<int64_t>(static_cast<int64_t>(values_.size()) - 1, k / kStride + 4));
  }
  float nth(int64_t place) {
    std::nth_element(values_.begin(), values_.begin() + place, values_.end());
    return values_[static_cast<size_t>(place)];
  }
  void collect(const float* d, int64_t n, int64_t origin, float limit) {
    found_.clear();
    for (int64_t lo = 0; lo < n; lo += kSlice) {
      const int64_t hi = std::min(n, lo + kSlice);
      if (!kernel<any_up_to>()(d + lo, hi - lo, limit)) continue;
      for (int64_t j = lo; j < hi; ++j)
        if (d[j] <= limit && j != origin) found_.push_back(static_cast<int32_t>(j));
    }
  }
  std::vector<int32_t> found_;
  std::vector<float> values_;
};

}  // namespace winkel
