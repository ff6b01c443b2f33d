// Dissimilar pairs of the latent variable model (Saul 2020): blocks of points, the order in which tiles of
// them are worked through, and tiles taken from memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "lvm_tiles.hpp"
#include "simd.hpp"

namespace winkel::lvm {

// Blocks of points that share no point; all pairs within a block are dissimilar, but for the exceptions. The
// pair of the entries i, j has the weight mass_i mass_j and the length scale reach_i + slack_j.
struct Family {
  std::vector<int32_t> items;   // points, block after block
  std::vector<int64_t> bounds;  // where blocks begin, and the end
  std::vector<double> reach, slack, mass;
  std::vector<int64_t> except_from;  // exceptions of each entry, all of them later entries; or empty
  std::vector<int32_t> except;
  std::vector<uint8_t> except_ways;
};

constexpr int64_t kSmallBlock = 32;              // blocks of at most so many entries share a tile
constexpr int64_t kBatch = kTile - kSmallBlock;  // entries in such a tile: shifted lanes stay within it
static_assert(kBatch % kLanes == 0, "whole groups of lanes");

// Small blocks of a family side by side: their entries, how many of the same block follow each, the longest
// such, and the exceptions in the order of their shifts.
struct Batch {
  struct Skip {
    int16_t shift, lane;
    uint8_t ways;
  };
  int32_t family;
  std::vector<int32_t> entries;
  std::vector<int16_t> left;
  std::vector<Skip> skips;
  int64_t longest = 0;

  // Appends the entries [begin, end) of a block, if there is place for them.
  bool append(const Family& f, int64_t begin, int64_t end) {
    const size_t first = entries.size();
    if (static_cast<int64_t>(first) + end - begin > kBatch) return false;
    longest = std::max(longest, end - begin - 1);
    for (int64_t e = begin; e < end; ++e) {
      entries.push_back(static_cast<int32_t>(e));
      left.push_back(static_cast<int16_t>(end - 1 - e));
      if (f.except_from.empty()) continue;
      for (int64_t x = f.except_from[static_cast<size_t>(e)]; x < f.except_from[static_cast<size_t>(e) + 1];
           ++x) {
        const int64_t other = f.except[static_cast<size_t>(x)];
        if (other <= e || other >= end) continue;
        skips.push_back({static_cast<int16_t>(other - e),
                         static_cast<int16_t>(first + static_cast<size_t>(e - begin)),
                         f.except_ways[static_cast<size_t>(x)]});
      }
    }
    return true;
  }
};

// The small blocks of a family in batches, those of one size together so that few lanes are idle.
inline std::vector<Batch> batches_of(const Family& f, int32_t number) {
  std::vector<size_t> blocks;
  const auto size = [&](size_t b) { return f.bounds[b + 1] - f.bounds[b]; };
  for (size_t b = 0; b + 1 < f.bounds.size(); ++b)
    if (size(b) >= 2 && size(b) <= kSmallBlock) blocks.push_back(b);
  std::stable_sort(blocks.begin(), blocks.end(), [&](size_t a, size_t b) { return size(a) > size(b); });
  std::vector<Batch> out;
  for (size_t b : blocks) {
    if (!out.empty() && out.back().append(f, f.bounds[b], f.bounds[b + 1])) continue;
    out.push_back({number, {}, {}, {}, 0});
    out.back().append(f, f.bounds[b], f.bounds[b + 1]);
  }
  for (Batch& batch : out)
    std::stable_sort(batch.skips.begin(), batch.skips.end(),
                     [](const Batch::Skip& a, const Batch::Skip& b) { return a.shift < b.shift; });
  return out;
}

// Points of a family in [rows, rows_end) against those in [columns, columns_end).
struct Job {
  int32_t family;
  int64_t rows, rows_end, columns, columns_end;
  bool same() const { return rows == columns; }
  int64_t size() const { return (rows_end - rows) * (columns_end - columns); }
};

// Jobs in rounds; those of one round touch different points, so that threads may add to shared sums, and a
// point's sums are made in the order of the rounds for any number of threads.
class Schedule {
 public:
  void add(const Family& family, int32_t number) {
    std::vector<std::vector<Job>> rounds;
    for (size_t b = 0; b + 1 < family.bounds.size(); ++b)
      if (family.bounds[b + 1] - family.bounds[b] > kSmallBlock)
        add_block(number, family.bounds[b], family.bounds[b + 1], rounds);
    for (auto& jobs : rounds) {
      // Large ones first, so that no thread is left with one at the end.
      std::stable_sort(jobs.begin(), jobs.end(),
                       [](const Job& a, const Job& b) { return a.size() > b.size(); });
      jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
      ends_.push_back(jobs_.size());
    }
  }

  const std::vector<Job>& jobs() const { return jobs_; }
  const std::vector<size_t>& ends() const { return ends_; }

 private:
  // Tiles meet as in a round-robin tournament: one stays, the others go round.
  static void add_block(int32_t family, int64_t begin, int64_t end, std::vector<std::vector<Job>>& rounds) {
    const int64_t tiles = (end - begin + kTile - 1) / kTile, even = tiles + tiles % 2;
    const auto meet = [&](int64_t round, int64_t a, int64_t b) {
      if (a > b) std::swap(a, b);
      if (b >= tiles) return;
      if (static_cast<int64_t>(rounds.size()) <= round) rounds.resize(static_cast<size_t>(round + 1));
      rounds[static_cast<size_t>(round)].push_back({family, begin + a * kTile,
                                                    std::min(end, begin + (a + 1) * kTile), begin + b * kTile,
                                                    std::min(end, begin + (b + 1) * kTile)});
    };
    for (int64_t t = 0; t < tiles; ++t) meet(0, t, t);
    for (int64_t r = 0; r + 1 < even; ++r) {
      meet(1 + r, r, even - 1);
      for (int64_t k = 1; k < even / 2; ++k)
        meet(1 + r, (r + k) % (even - 1), (r + even - 1 - k) % (even - 1));
    }
  }

  std::vector<Job> jobs_;
  std::vector<size_t> ends_;  // where each round ends
};

// Coordinates and scales of up to kTile points, taken from their places in memory.
template <class T>
class PackedTile {
 public:
  explicit PackedTile(int64_t d) : y_(static_cast<size_t>(d * kTile)), scales_(4 * kTile, T(1)), d_(d) {}

  void pack(const Family& f, int64_t lo, int64_t hi, const double* Y, const double* variance,
            const double* centre) {
    count_ = hi - lo;
    for (int64_t k = 0; k < count_; ++k) {
      const int64_t i = f.items[static_cast<size_t>(lo + k)];
      for (int64_t c = 0; c < d_; ++c)
        y_[static_cast<size_t>(c * kTile + k)] = static_cast<T>(Y[i * d_ + c] - centre[c]);
      set(k, variance[i], f.reach[static_cast<size_t>(lo + k)], f.slack[static_cast<size_t>(lo + k)],
          f.mass[static_cast<size_t>(lo + k)]);
    }
    for (int64_t k = count_; k % kLanes != 0; ++k) {
      for (int64_t c = 0; c < d_; ++c) y_[static_cast<size_t>(c * kTile + k)] = T(0);
      set(k, 1.0, 1.0, 1.0, 0.0);
    }
  }

  // Small blocks side by side, each around its first point; what follows has no mass.
  void pack(const Family& f, const Batch& batch, const double* Y, const double* variance) {
    count_ = static_cast<int64_t>(batch.entries.size());
    const double* centre = nullptr;
    for (int64_t k = 0; k < count_; ++k) {
      const size_t e = static_cast<size_t>(batch.entries[static_cast<size_t>(k)]);
      const int64_t i = f.items[e];
      if (k == 0 || batch.left[static_cast<size_t>(k) - 1] == 0) centre = Y + i * d_;
      for (int64_t c = 0; c < d_; ++c)
        y_[static_cast<size_t>(c * kTile + k)] = static_cast<T>(Y[i * d_ + c] - centre[c]);
      set(k, variance[i], f.reach[e], f.slack[e], f.mass[e]);
    }
    for (int64_t c = 0; c < d_; ++c) std::fill_n(y_.data() + c * kTile + count_, kTile - count_, T(0));
    for (int64_t k = count_; k < kTile; ++k) set(k, 1.0, 1.0, 1.0, 0.0);
  }

  // A tile of one point.
  void pack_one(const double* y, double variance, double reach, const double* centre) {
    count_ = 1;
    for (int64_t c = 0; c < d_; ++c) y_[static_cast<size_t>(c * kTile)] = static_cast<T>(y[c] - centre[c]);
    set(0, variance, reach, 0.0, 1.0);
  }

  TilePoints<T> points() const {
    const T* s = scales_.data();
    return {y_.data(), s, s + kTile, s + 2 * kTile, s + 3 * kTile, count_};
  }

 private:
  void set(int64_t k, double variance, double reach, double slack, double mass) {
    T* s = scales_.data() + k;
    s[0] = static_cast<T>(variance);
    s[kTile] = static_cast<T>(reach);
    s[2 * kTile] = static_cast<T>(slack);
    s[3 * kTile] = static_cast<T>(mass);
  }

  std::vector<T> y_, scales_;
  int64_t d_, count_ = 0;
};

// What one thread needs for a job.
template <class T>
struct Workspace {
  explicit Workspace(int64_t d)
      : rows(d), columns(d), row_sums(static_cast<size_t>(d * kTile)), column_sums(row_sums.size()) {}

  PackedTile<T> rows, columns;
  std::vector<T> row_sums, column_sums;
  TileScratch<T> scratch{};
};

}  // namespace winkel::lvm
