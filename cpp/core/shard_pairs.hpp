// Attraction within one shard of a map: the pairs of some consecutive rows with any others, as compressed
// rows, so that a shard owns the rows of the gradient that it writes and can be read straight from a file.
// Every pair is stored from both its ends, in the shards of its two rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "distortion.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

constexpr int64_t kShardRows = 256;  // rows whose values are summed together

struct ShardPairs {
  const int64_t* begin;     // row of the shard -> its first entry; one more at the end
  const int32_t* neighbor;  // entry -> row of the map
  const float* weight;
  int64_t rows, first;  // rows of the shard, and the row of the map that is its first
};

template <class T, int M>
struct ShardPull {
  const ShardPairs& pairs;
  DistortionLoop<T> loop;
  const DistortionParams& params;
  const T* Y;
  T scale;
  T* gradient;

  // The sum over entries of rows lo, ..., hi - 1, whose gradients are written.
  double operator()(int64_t lo, int64_t hi) const {
    std::fill(gradient + lo * M, gradient + hi * M, T(0));
    Work work{};
    double value = 0.0;
    int64_t row = lo;
    for (int64_t e = pairs.begin[lo], end = pairs.begin[hi]; e < end; e += kChunk)
      value += chunk(e, std::min(kChunk, end - e), row, work);
    return value;
  }

 private:
  struct Work {
    T difference[M][kChunk], squares[kChunk], weights[kChunk], factors[kChunk];
  };

  // Entries first, ..., first + count - 1, which begin in `row` or after; leaves in `row` that of the last
  // one.
  double chunk(int64_t first, int64_t count, int64_t& row, Work& work) const {
    auto& [difference, squares, weights, factors] = work;
    const int64_t end = first + count;
    int64_t r = row;
    for (int64_t e = first; e < end;) {
      while (pairs.begin[r + 1] <= e) ++r;
      const T* own = Y + (pairs.first + r) * M;
      for (const int64_t stop = std::min(end, pairs.begin[r + 1]); e < stop; ++e) {
        const T* other = Y + int64_t{pairs.neighbor[e]} * M;
        T square = T(0);
        for (int c = 0; c < M; ++c) {
          const T x = own[c] - other[c];
          difference[c][e - first] = x;
          square += x * x;
        }
        squares[e - first] = square;
        weights[e - first] = static_cast<T>(pairs.weight[e]);
      }
    }
    const int64_t padded = (count + kLanes - 1) / kLanes * kLanes;
    for (int64_t k = count; k < padded; ++k) squares[k] = T(1), weights[k] = T(0);
    const double value = loop(squares, weights, weights, padded, &params, factors);
    r = row;
    for (int64_t e = first; e < end;) {
      while (pairs.begin[r + 1] <= e) ++r;
      T sums[M] = {};
      for (const int64_t stop = std::min(end, pairs.begin[r + 1]); e < stop; ++e)
        for (int c = 0; c < M; ++c) sums[c] += factors[e - first] * difference[c][e - first];
      for (int c = 0; c < M; ++c) gradient[r * M + c] += scale * sums[c];
    }
    row = r;
    return value;
  }
};

// Half the sum over the shard's entries of w f(d), with the gradient of scale times the sum over pairs for
// the shard's rows.
template <class T, int M>
double shard_pull(const ShardPairs& pairs, DistortionLoop<T> loop, const DistortionParams& params, const T* Y,
                  T scale, int threads, T* gradient) {
  const ShardPull<T, M> pull{pairs, loop, params, Y, scale, gradient};
  return 0.5 * parallel_sum(pairs.rows, kShardRows, threads, pull);
}

}  // namespace winkel
