// For each of n rows the `width` smallest of all (non-negative) keys ever offered, without repeats. What a
// row holds in the end depends only on the set of keys offered, not on their order, so threads may offer as
// they please.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "pages.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

// Keys of a row take whole cache lines: the last ones stay empty.
constexpr int kKeysInLine = 8;

// How many of the sorted keys are at most `key`: counting all of them beats a search that branches.
WINKEL_CLONES int count_up_to(const int64_t* keys, int lines, int64_t key) {
  int64_t lane[kKeysInLine] = {};
  for (int s = 0; s < lines; ++s)
    for (int l = 0; l < kKeysInLine; ++l) lane[l] += keys[s * kKeysInLine + l] <= key;
  int64_t count = 0;
  for (int l = 0; l < kKeysInLine; ++l) count += lane[l];
  return static_cast<int>(count);
}

class BoundedLists {
 public:
  static constexpr int64_t kEmpty = std::numeric_limits<int64_t>::max();  // after every key

  BoundedLists(int64_t n, int width)
      : n_(n),
        width_(width),
        lines_((width + kKeysInLine - 1) / kKeysInLine),
        keys_(static_cast<size_t>(n) * static_cast<size_t>(lines_), Line{}),
        last_(new std::atomic<int64_t>[static_cast<size_t>(n)]),
        locks_(new SpinLock[static_cast<size_t>(n)]) {
    for (int64_t i = 0; i < n_; ++i) last_[i].store(kEmpty, std::memory_order_relaxed);
  }

  void clear(int threads) {
    parallel_blocks(n_, 4096, threads, [&](int64_t lo, int64_t hi) {
      std::fill(row(lo), row(hi - 1) + lines_ * kKeysInLine, kEmpty);
      for (int64_t i = lo; i < hi; ++i) last_[i].store(kEmpty, std::memory_order_relaxed);
    });
  }

  int width() const { return width_; }
  int64_t* row(int64_t i) { return keys_[static_cast<size_t>(i * lines_)].key; }
  const int64_t* row(int64_t i) const { return keys_[static_cast<size_t>(i * lines_)].key; }
  int64_t last(int64_t i) const { return last_[i].load(std::memory_order_relaxed); }

  // Fetches a row that is soon to be offered something.
  void prefetch(int64_t i) const {
    for (int s = 0; s < lines_; ++s) __builtin_prefetch(row(i) + s * kKeysInLine, 1);
  }

  // Offers `key`; bits of `ignore` do not tell two keys apart. True if it was taken.
  bool offer(int64_t i, int64_t key, int64_t ignore = 0) {
    if (key >= last(i)) return false;
    locks_[i].lock();
    int64_t* r = row(i);
    const int at = kernel<count_up_to>()(r, lines_, key);
    const bool repeat = (at > 0 && (r[at - 1] | ignore) == (key | ignore)) ||
                        (at < width_ && (r[at] | ignore) == (key | ignore));
    const bool taken = at < width_ && !repeat;
    if (taken) {
      std::memmove(r + at + 1, r + at, static_cast<size_t>(width_ - at - 1) * sizeof(int64_t));
      r[at] = key;
      last_[i].store(r[width_ - 1], std::memory_order_relaxed);
    }
    locks_[i].unlock();
    return taken;
  }

 private:
  struct alignas(64) Line {
    int64_t key[kKeysInLine] = {kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty};
  };

  int64_t n_;
  int width_, lines_;
  LargeVector<Line> keys_;
  std::unique_ptr<std::atomic<int64_t>[]> last_;
  std::unique_ptr<SpinLock[]> locks_;
};

// Neighbour keys order by distance, ties by cyclic index distance (j - i mod n): rows that are all equal then
// get different neighbours instead of all the same first few. The lowest bit marks a neighbour as new.
struct NeighborKey {
  static constexpr int64_t kNew = 1;

  static int64_t make(float distance, int64_t i, int64_t j, int64_t n) {
    const float d = distance > 0.0f ? distance : 0.0f;
    uint32_t bits;
    std::memcpy(&bits, &d, sizeof bits);
    const int64_t offset = j > i ? j - i : j - i + n;
    return (static_cast<int64_t>(bits) << 32) | (offset << 1) | kNew;  // 31 bits each: no sign, n < 2^31
  }
  static float distance(int64_t key) {
    if (key == BoundedLists::kEmpty) return std::numeric_limits<float>::max();
    const uint32_t bits = static_cast<uint32_t>(key >> 32);
    float d;
    std::memcpy(&d, &bits, sizeof d);
    return d;
  }
  static int32_t index(int64_t key, int64_t i, int64_t n) {
    const int64_t j = i + ((key >> 1) & 0x7fffffff);
    return static_cast<int32_t>(j >= n ? j - n : j);
  }
};

}  // namespace winkel
