// Random pairs of items without repeats.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "rng.hpp"

namespace winkel {

// Keys i·n + j of `count` different pairs i < j, sorted, uniform among those not in the sorted list `barred`.
// The caller sees to it that there are at least twice as many to choose from.
inline std::vector<int64_t> sample_pairs(int64_t n, int64_t count, uint64_t seed, const int64_t* barred,
                                         int64_t n_barred, int threads) {
  const Random rng(seed, 0x7061697273ull);
  std::vector<int64_t> found, fresh, merged;
  uint64_t drawn = 0;
  while (static_cast<int64_t>(found.size()) < count) {
    const int64_t size = (count - static_cast<int64_t>(found.size())) * 11 / 10 + 64;
    fresh.assign(static_cast<size_t>(size), -1);
    parallel_blocks(size, 4096, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t t = lo; t < hi; ++t) {
        const uint64_t bits = rng.bits(drawn + static_cast<uint64_t>(t));
        const int64_t i = static_cast<int64_t>(((bits >> 32) * static_cast<uint64_t>(n)) >> 32);
        const int64_t j = static_cast<int64_t>(((bits & 0xffffffffu) * static_cast<uint64_t>(n)) >> 32);
        if (i != j) fresh[static_cast<size_t>(t)] = std::min(i, j) * n + std::max(i, j);
      }
    });
    drawn += static_cast<uint64_t>(size);
    std::sort(fresh.begin(), fresh.end());
    fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
    if (fresh.front() < 0) fresh.erase(fresh.begin());
    merged.clear();
    std::set_difference(fresh.begin(), fresh.end(), barred, barred + n_barred, std::back_inserter(merged));
    fresh.clear();
    std::set_union(found.begin(), found.end(), merged.begin(), merged.end(), std::back_inserter(fresh));
    found.swap(fresh);
  }
  // Too many: drop a uniform choice of them, those with the largest hash.
  std::vector<std::pair<uint64_t, int64_t>> ranked(found.size());
  for (size_t k = 0; k < found.size(); ++k)
    ranked[k] = {mix64(seed ^ mix64(static_cast<uint64_t>(found[k]))), found[k]};
  std::nth_element(ranked.begin(), ranked.begin() + count, ranked.end());
  found.resize(static_cast<size_t>(count));
  for (size_t k = 0; k < found.size(); ++k) found[k] = ranked[k].second;
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace winkel
