// The average distortion of a list of pairs and its gradient, in one pass.
//
// Each pair is stored twice, once with each of its items, so that every gradient row is summed by one owner
// in one order: no atomics, and the same bytes for any number of threads. Rows are packed sixteen to a slice
// (lane = row), the neighbours of a slice lie column after column, and all three steps of a slice run over
// lanes:
//
//     gather the differences  ->  distortion loop (factors, values)  ->  add factor x difference to the lanes
//
// The distortion loop runs over a chunk of entries at once, which may hold several slices or part of one.
// Rows of like length share a slice, and rows longer than kLongest are cut into segments that are added up
// afterwards. Items are renumbered by a caller's order so that neighbours in the graph are neighbours in
// memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "distortion.hpp"
#include "pages.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

constexpr int64_t kLongest = 128;  // neighbours in one segment of a row, at most
constexpr int64_t kWindow =
    64 * 16;  // rows are sorted by length within windows of so many, which keeps them local
constexpr int64_t kSlicesPerBlock = 32;
constexpr int64_t kFewEntries = 1000000;
constexpr int64_t kWorkEntries = 4096;  // components of differences held at a time

// Pairs with one distortion, packed.
template <class T>
struct PairGroup {
  DistortionLoop<T> loop = nullptr;
  DistortionParams params;
  std::vector<int64_t> start;        // slice -> first entry; one more at the end
  std::vector<int32_t> row, target;  // lane -> its item, and the row of the sums it adds to
  std::vector<int32_t> length;       // lane -> neighbours
  LargeVector<int32_t> neighbor;     // entry -> item, times the padded number of components
  LargeVector<T> weight, deviation;  // entry -> data of its pair; empty when all are alike
  std::vector<int64_t> pair;         // entry -> pair, only for factors given from outside
  std::vector<int32_t> split;        // items in several segments ...
  std::vector<int32_t> split_start;  // ... and where their rows of `target` begin; one more at the end
  T common_weight = T(1);
};

namespace pairs {

// Where the sums of lanes go: to rows of the gradient, or of pieces beyond its n rows.
template <class T>
struct Rows {
  int64_t n, m, width;  // width: of the sums
  T scale;
  bool add;  // to what the gradient holds; pieces are new
  T *gradient, *pieces;
};

// M components and their padded number; 0 when they are known only at run time.
template <class T, int M, int Width>
void write_rows(const T* sums, const Rows<T>& rows, const int32_t* target) {
  const int64_t m = M > 0 ? M : rows.m, width = Width > 0 ? Width : rows.width;
  for (int64_t l = 0; l < kLanes; ++l) {
    const int64_t r = target[l];
    if (r < 0) continue;
    const bool add = rows.add && r < rows.n;
    T* out = r < rows.n ? rows.gradient + r * m : rows.pieces + (r - rows.n) * m;
    for (int64_t c = 0; c < m; ++c) out[c] = (add ? out[c] : T(0)) + rows.scale * sums[l * width + c];
  }
}

// Few components: coordinate by coordinate, all lanes at once. Rows are first copied side by side, which
// costs less than gathering each coordinate. `diff` holds component c of entry e at c * kChunk + e.
template <class T, int M, int Width>
struct ByLane {
  static int64_t stride(int64_t) { return 1; }

  static void write(const T* sums, const Rows<T>& rows, const int32_t* target) {
    write_rows<T, M, Width>(sums, rows, target);
  }

  static WINKEL_CLONES void differences(const T* __restrict Y, int64_t, const int32_t* __restrict neighbor,
                                        const int32_t* __restrict row, int64_t columns, T* __restrict diff,
                                        T* __restrict squares) {
    T own[kLanes * Width], rows[kChunk * Width];
    for (int64_t l = 0; l < kLanes; ++l)
      std::memcpy(own + l * Width, Y + int64_t{row[l]} * Width, Width * sizeof(T));
    for (int64_t e = 0; e < columns * kLanes; ++e)
      std::memcpy(rows + e * Width, Y + neighbor[e], Width * sizeof(T));
    for (int64_t k = 0; k < columns; ++k) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const int64_t e = k * kLanes + l;
        T square = T(0);
        for (int c = 0; c < M; ++c) {
          const T x = own[l * Width + c] - rows[e * Width + c];
          diff[c * kChunk + e] = x;
          square += x * x;
        }
        squares[e] = square;
      }
    }
  }

  static WINKEL_CLONES void accumulate(const T* __restrict diff, const T* __restrict factors, int64_t,
                                       int64_t columns, T* __restrict sums) {
    for (int c = 0; c < M; ++c) {
      T lanes[kLanes] = {};
      for (int64_t k = 0; k < columns; ++k) {
        for (int64_t l = 0; l < kLanes; ++l)
          lanes[l] += factors[k * kLanes + l] * diff[c * kChunk + k * kLanes + l];
      }
      for (int64_t l = 0; l < kLanes; ++l) sums[l * Width + c] += lanes[l];
    }
  }
};

// Many components: entry by entry, a row at once. Rows are padded with zeros to a multiple of eight
// components; `diff` holds component c of entry e at e * width + c. Width is 0 when it is known only at run
// time.
template <class T, int Width>
struct ByRow {
  static int64_t stride(int64_t width) { return width; }

  static void write(const T* sums, const Rows<T>& rows, const int32_t* target) {
    write_rows<T, 0, 0>(sums, rows, target);
  }

  static WINKEL_CLONES void differences(const T* __restrict Y, int64_t padded,
                                        const int32_t* __restrict neighbor, const int32_t* __restrict row,
                                        int64_t columns, T* __restrict diff, T* __restrict squares) {
    const int64_t width = Width > 0 ? Width : padded, count = columns * kLanes;
    for (int64_t e = 0; e < count; ++e) {
      const T* const own = Y + row[e % kLanes] * width;
      for (int64_t c = 0; c < width; ++c) diff[e * width + c] = own[c] - Y[neighbor[e] + c];
    }
    // Sums of squares in halves, each a loop of its own that becomes vector code.
    T eight[kChunk * 8], four[kChunk * 4], two[kChunk * 2];
    for (int64_t e = 0; e < count; ++e) {
      for (int c = 0; c < 8; ++c) eight[e * 8 + c] = diff[e * width + c] * diff[e * width + c];
    }
    for (int64_t b = 8; b < width; b += 8) {
      for (int64_t e = 0; e < count; ++e) {
        for (int c = 0; c < 8; ++c) eight[e * 8 + c] += diff[e * width + b + c] * diff[e * width + b + c];
      }
    }
    for (int64_t e = 0; e < count; ++e) {
      for (int c = 0; c < 4; ++c) four[e * 4 + c] = eight[e * 8 + c] + eight[e * 8 + 4 + c];
    }
    for (int64_t e = 0; e < count; ++e) {
      for (int c = 0; c < 2; ++c) two[e * 2 + c] = four[e * 4 + c] + four[e * 4 + 2 + c];
    }
    for (int64_t e = 0; e < count; ++e) squares[e] = two[e * 2] + two[e * 2 + 1];
  }

  static WINKEL_CLONES void accumulate(const T* __restrict diff, const T* __restrict factors, int64_t padded,
                                       int64_t columns, T* __restrict sums) {
    const int64_t width = padded;
    for (int64_t e = 0; e < columns * kLanes; ++e) {
      T* sum = sums + (e % kLanes) * width;
      const T* x = diff + e * width;
      for (int64_t b = 0; b < width; b += 8) {
        for (int c = 0; c < 8; ++c) sum[b + c] += factors[e] * x[b + c];
      }
    }
  }
};

// weight where the lane has a neighbour in this column, else zero.
template <class T>
WINKEL_CLONES void lane_weights(const int32_t* __restrict length, int32_t first, int32_t columns, T weight,
                                T* __restrict out) {
  for (int32_t k = 0; k < columns; ++k) {
    for (int32_t l = 0; l < kLanes; ++l) out[k * kLanes + l] = first + k < length[l] ? weight : T(0);
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

// The first address at or after p that begins a cache line, so that rows of sixteen floats lie in one line
// each.
template <class T>
T* line_start(T* p) {
  return p + (64 - reinterpret_cast<uintptr_t>(p) % 64) % 64 / sizeof(T);
}

// The two passes around the distortion loop for a number of components.
template <class T>
struct PairPasses {
  int64_t width;   // components, padded
  int64_t stride;  // from an entry's differences to the next one's
  void (*differences)(const T*, int64_t, const int32_t*, const int32_t*, int64_t, T*, T*);
  void (*accumulate)(const T*, const T*, int64_t, int64_t, T*);
  void (*write)(const T*, const pairs::Rows<T>&, const int32_t*);

  template <class P>
  static PairPasses of(int64_t width) {
    return {width, P::stride(width), kernel<P::differences>(), kernel<P::accumulate>(), P::write};
  }

  static PairPasses for_components(int64_t m) {
    switch (m) {
      case 1:
        return of<pairs::ByLane<T, 1, 1>>(1);
      case 2:
        return of<pairs::ByLane<T, 2, 2>>(2);
      case 3:
        return of<pairs::ByLane<T, 3, 4>>(4);
      case 4:
        return of<pairs::ByLane<T, 4, 4>>(4);
      default:
        return m <= 8    ? of<pairs::ByRow<T, 8>>(8)
               : m <= 16 ? of<pairs::ByRow<T, 16>>(16)
                         : of<pairs::ByRow<T, 0>>((m + 7) / 8 * 8);
    }
  }
};

template <class T>
class PairPlan {
 public:
  PairPlan(int64_t n, int64_t m) : n_(n), m_(m), passes_(PairPasses<T>::for_components(m)) {
    columns_ = std::clamp<int64_t>(kWorkEntries / (kLanes * passes_.width), 1, kChunk / kLanes);
  }

  // Items times this many must be less than 2^31.
  static int64_t padded_components(int64_t m) { return PairPasses<T>::for_components(m).width; }

  int64_t items() const { return n_; }
  int64_t components() const { return m_; }
  int64_t pairs_with_factors() const { return pairs_with_factors_; }

  // Adds pairs (count x 2). weights and deviations may be null.
  void add(DistortionLoop<T> loop, const DistortionParams& params, const int32_t* edges, int64_t count,
           const double* weights, double common_weight, const double* deviations, int threads) {
    PairGroup<T> g;
    g.loop = loop;
    g.params = params;
    g.common_weight = static_cast<T>(common_weight);
    const Ends ends = ends_of(edges, count);
    const std::vector<Segment> segments = cut(g, ends);
    const int64_t entries = lay_out(g, segments);
    const auto size = static_cast<size_t>(entries);
    g.neighbor.resize(size);
    if (weights != nullptr) g.weight.assign(size, T(0));
    if (deviations != nullptr) g.deviation.assign(size, T(1));
    if (loop == nullptr) g.pair.assign(size, -1), pairs_with_factors_ = std::max(pairs_with_factors_, count);
    // Where a lane has no pair any more its last one stands, with a weight of zero: few pairs are close to
    // zero.
    const int64_t slices = static_cast<int64_t>(g.start.size()) - 1;
    parallel_blocks(slices, kSlicesPerBlock, threads, [&](int64_t lo, int64_t hi) {
      int64_t items[kLanes] = {};
      each_entry(g, segments, lo, hi, [&](size_t e, const Segment* seg, int64_t k, int32_t row) {
        int64_t& item = items[e % kLanes];
        if (k == 0) item = row;
        if (seg != nullptr) {
          const auto pair = static_cast<size_t>(ends.pair[static_cast<size_t>(seg->begin + k)]);
          item = int64_t{edges[2 * pair]} + edges[2 * pair + 1] - row;
          if (weights != nullptr) g.weight[e] = static_cast<T>(weights[pair]);
          if (deviations != nullptr) g.deviation[e] = static_cast<T>(deviations[pair]);
          if (loop == nullptr) g.pair[e] = static_cast<int64_t>(pair);
        }
        g.neighbor[e] = static_cast<int32_t>(item * passes_.width);
      });
    });
    entries_ += entries;
    groups_.push_back(std::move(g));
  }

  // Sum over pairs of w f(d), with the gradient of scale times it in `gradient` (n x m). `factors` holds
  // w f'(d) / d of each pair for groups without a loop of their own, whose values are not summed.
  double evaluate(const T* Y, T scale, const T* factors, int threads, T* gradient) const {
    // Little work is done sooner than a second thread would be woken.
    if (entries_ * passes_.width < kFewEntries) threads = 1;
    const int64_t width = passes_.width;
    std::vector<T> storage;
    if (width != m_) {
      storage.assign(static_cast<size_t>(n_ * width) + 64 / sizeof(T), T(0));
      T* const padded = line_start(storage.data());
      parallel_blocks(n_, 4096, threads, [&](int64_t lo, int64_t hi) {
        for (int64_t r = lo; r < hi; ++r) std::copy(Y + r * m_, Y + (r + 1) * m_, padded + r * width);
      });
      Y = padded;
    }
    double sum = 0.0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      sum += run({groups_[g], Y, scale, factors, g > 0, gradient}, threads);
    }
    return 0.5 * sum;  // every pair was seen from both its ends
  }

 private:
  struct Task {
    const PairGroup<T>& g;
    const T* Y;
    T scale;
    const T* factors;
    bool add;  // to what earlier groups wrote
    T* gradient;
  };

  // What a thread needs for a block of slices.
  struct Work {
    Work(int64_t width, int64_t entries)
        : sums(static_cast<size_t>(kLanes * width)),
          diff(static_cast<size_t>((width <= 4 ? kChunk : entries) * width)),
          squares(static_cast<size_t>(kChunk)),
          factors(squares.size()),
          weights(squares.size()) {}
    std::vector<T> sums, diff, squares, factors, weights;
  };

  double run(const Task& t, int threads) const {
    const int64_t slices = static_cast<int64_t>(t.g.start.size()) - 1;
    std::vector<T> pieces(static_cast<size_t>(t.g.split_start.back() * m_));
    const double sum = parallel_sum(slices, kSlicesPerBlock, threads,
                                    [&](int64_t lo, int64_t hi) { return block(t, lo, hi, pieces.data()); });
    for (size_t i = 0; i < t.g.split.size(); ++i) {
      T* out = t.gradient + int64_t{t.g.split[i]} * m_;
      for (int64_t c = 0; c < m_; ++c) {
        T total = t.add ? out[c] : T(0);
        for (int32_t q = t.g.split_start[i]; q < t.g.split_start[i + 1]; ++q) {
          total += pieces[static_cast<size_t>(q * m_ + c)];
        }
        out[c] = total;
      }
    }
    return sum;
  }

  // Slices [lo, hi). Their entries lie one after another and are gone through by chunks, wherever slices end:
  // the distortion loop runs over many pairs, however few a slice has.
  double block(const Task& t, int64_t lo, int64_t hi, T* pieces) const {
    const int64_t* const start = t.g.start.data();
    const int64_t chunk = columns_ * kLanes;
    const pairs::Rows<T> rows{n_, m_, passes_.width, t.scale, t.add, t.gradient, pieces};
    Work work(passes_.width, chunk);
    double value = 0.0;
    int64_t s = lo;  // the first slice whose sums are not whole
    for (int64_t at = start[lo]; s < hi; at += chunk) {
      const int64_t end = std::min(start[hi], at + chunk);
      for (int64_t r = s; r < hi && start[r] < end; ++r)
        differences(t, r, std::max(at, start[r]), std::min(end, start[r + 1]), at, work);
      if (at < end) value += force_factors(t, at, end - at, work);
      for (; s < hi; ++s) {
        if (start[s] >= at) std::fill(work.sums.begin(), work.sums.end(), T(0));
        accumulate(std::max(at, start[s]), std::min(end, start[s + 1]), at, work);
        if (start[s + 1] > end) break;
        passes_.write(work.sums.data(), rows, t.g.target.data() + s * kLanes);
      }
    }
    return value;
  }

  // Entries [from, to) of slice s, in the chunk that begins with entry `at`.
  void differences(const Task& t, int64_t s, int64_t from, int64_t to, int64_t at, Work& work) const {
    const PairGroup<T>& g = t.g;
    const int64_t first = g.start[static_cast<size_t>(s)];
    const int64_t place = from - at, columns = (to - from) / kLanes;
    passes_.differences(t.Y, passes_.width, g.neighbor.data() + from, g.row.data() + s * kLanes, columns,
                        work.diff.data() + place * passes_.stride, work.squares.data() + place);
    if (g.loop != nullptr && g.weight.empty()) {
      kernel<pairs::lane_weights<T>>()(
          g.length.data() + s * kLanes, static_cast<int32_t>((from - first) / kLanes),
          static_cast<int32_t>(columns), g.common_weight, work.weights.data() + place);
    }
  }

  double force_factors(const Task& t, int64_t at, int64_t count, Work& work) const {
    const PairGroup<T>& g = t.g;
    if (g.loop == nullptr) {
      for (int64_t e = 0; e < count; ++e) {
        const int64_t pair = g.pair[static_cast<size_t>(at + e)];
        work.factors[static_cast<size_t>(e)] = pair < 0 ? T(0) : t.factors[pair];
      }
      return 0.0;
    }
    const T* weight = g.weight.empty() ? work.weights.data() : g.weight.data() + at;
    const T* deviation = g.deviation.empty() ? weight : g.deviation.data() + at;  // penalties read none
    return g.loop(work.squares.data(), weight, deviation, count, &g.params, work.factors.data());
  }

  void accumulate(int64_t from, int64_t to, int64_t at, Work& work) const {
    const int64_t place = from - at;
    passes_.accumulate(work.diff.data() + place * passes_.stride, work.factors.data() + place, passes_.width,
                       (to - from) / kLanes, work.sums.data());
  }

  // The pairs of each item, in the order of the list: those of item r from begin[r] on.
  struct Ends {
    std::vector<int64_t> begin;
    std::vector<uint32_t> pair;
  };

  // Neighbours of a row that are summed together: `length` of them, from `begin` on in Ends.
  struct Segment {
    int32_t row, target, length;
    int64_t begin;
  };

  Ends ends_of(const int32_t* edges, int64_t count) const {
    if (count > int64_t{UINT32_MAX}) throw std::length_error("at most 2**32 - 1 pairs can be packed");
    Ends ends{std::vector<int64_t>(static_cast<size_t>(n_ + 1), 0),
              std::vector<uint32_t>(static_cast<size_t>(2 * count))};
    for (int64_t e = 0; e < 2 * count; ++e) ++ends.begin[static_cast<size_t>(edges[e] + 1)];
    std::partial_sum(ends.begin.begin(), ends.begin.end(), ends.begin.begin());
    std::vector<int64_t> next(ends.begin.begin(), ends.begin.end() - 1);
    for (int64_t e = 0; e < 2 * count; ++e) {
      ends.pair[static_cast<size_t>(next[static_cast<size_t>(edges[e])]++)] = static_cast<uint32_t>(e / 2);
    }
    return ends;
  }

  // Segments of all rows, those of like length beside each other.
  std::vector<Segment> cut(PairGroup<T>& g, const Ends& ends) const {
    std::vector<Segment> segments;
    segments.reserve(static_cast<size_t>(n_));
    g.split_start.push_back(0);
    for (int64_t r = 0; r < n_; ++r) {
      const int64_t lo = ends.begin[static_cast<size_t>(r)], hi = ends.begin[static_cast<size_t>(r + 1)];
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
                       [](const Segment& x, const Segment& y) { return x.length > y.length; });
    }
    return segments;
  }

  // Deals segments to slices; how many entries these have. The last slice is filled with lanes without pairs.
  static int64_t lay_out(PairGroup<T>& g, const std::vector<Segment>& segments) {
    const int64_t total = static_cast<int64_t>(segments.size());
    const auto lanes = static_cast<size_t>((total + kLanes - 1) / kLanes * kLanes);
    g.row.reserve(lanes), g.target.reserve(lanes), g.length.reserve(lanes);
    g.start.reserve(lanes / static_cast<size_t>(kLanes) + 1);
    int64_t entries = 0;
    g.start.push_back(0);
    for (int64_t s = 0; s < total; s += kLanes) {
      int64_t columns = 0;
      for (int64_t l = s; l < s + kLanes; ++l) {
        const Segment seg = l < total ? segments[static_cast<size_t>(l)]
                                      : Segment{segments[static_cast<size_t>(s)].row, -1, 0, 0};
        g.row.push_back(seg.row), g.target.push_back(seg.target), g.length.push_back(seg.length);
        columns = std::max<int64_t>(columns, seg.length);
      }
      g.start.push_back(entries += columns * kLanes);
    }
    return entries;
  }

  // Calls fill(entry, segment, k, row) for every entry of slices [lo, hi): the k-th neighbour of its segment,
  // or none (null).
  template <class Fill>
  static void each_entry(const PairGroup<T>& g, const std::vector<Segment>& segments, int64_t lo, int64_t hi,
                         const Fill& fill) {
    for (size_t s = static_cast<size_t>(lo); s < static_cast<size_t>(hi); ++s) {
      for (int64_t e = g.start[s]; e < g.start[s + 1]; ++e) {
        const int64_t k = (e - g.start[s]) / kLanes;
        const size_t lane = s * static_cast<size_t>(kLanes) + static_cast<size_t>((e - g.start[s]) % kLanes);
        fill(static_cast<size_t>(e), k < g.length[lane] ? &segments[lane] : nullptr, k, g.row[lane]);
      }
    }
  }

  int64_t n_, m_;
  PairPasses<T> passes_;
  int64_t columns_ = 1, entries_ = 0, pairs_with_factors_ = 0;
  std::vector<PairGroup<T>> groups_;
};

}  // namespace winkel
