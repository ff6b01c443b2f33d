// Sparse times dense, fused with the three-term recurrence of Chebyshev polynomials.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

// A Laplacian diag(d) − W in compressed rows.
struct LaplacianRows {
  const int32_t* indptr;
  const int32_t* indices;
  const double* weights;
  const double* diagonal;
};

constexpr int64_t kColumns = 8;  // columns that are summed together
constexpr int64_t kAhead = 12;   // rows of x are asked for this many entries before they are used

inline void prefetch(const void* place) {
#if defined(__GNUC__)
  __builtin_prefetch(place);
#else
  (void)place;
#endif
}

// out = a (diag(d) − W) x + b x + c z on rows [lo, hi); x, z and out have `width` columns, a multiple of
// kColumns. `z` may be `out`: a row is read before it is written, and no other row of it is used.
WINKEL_CLONES void laplacian_rows(const LaplacianRows& m, const double* x, const double* z, double a,
                                  double b, double c, int64_t width, int64_t lo, int64_t hi, double* out) {
  const int64_t last = m.indptr[hi] - 1;
  for (int64_t i = lo; i < hi; ++i)
    for (int64_t col = 0; col < width; col += kColumns) {
      double sum[kColumns] = {0};
      for (int64_t e = m.indptr[i]; e < m.indptr[i + 1]; ++e) {
        prefetch(x + m.indices[std::min(e + kAhead, last)] * width + col);
        const double w = m.weights[e];
        const double* row = x + m.indices[e] * width + col;
        for (int64_t l = 0; l < kColumns; ++l) sum[l] += w * row[l];
      }
      const int64_t at = i * width + col;
      for (int64_t l = 0; l < kColumns; ++l)
        out[at + l] = a * (m.diagonal[i] * x[at + l] - sum[l]) + b * x[at + l] + c * z[at + l];
    }
}

inline void laplacian_step(const LaplacianRows& m, int64_t n, const double* x, const double* z, double a,
                           double b, double c, int64_t width, int threads, double* out) {
  parallel_blocks(n, 1024, threads, [&](int64_t lo, int64_t hi) {
    kernel<laplacian_rows>()(m, x, z, a, b, c, width, lo, hi, out);
  });
}

constexpr int64_t kSingleColumns = 16;   // columns in single precision that are summed together, a cache line
constexpr int64_t kSingleRows = 1024;    // rows of the product that are made together, at most
constexpr int64_t kTileBytes = 1 << 19;  // of x, held in a core's cache until they took what they need of it

// sum += W x over the entries [first, last) of a row, in their order.
WINKEL_INLINE void add_entries(const int32_t* indices, const float* weights, const float* x, int64_t width,
                               int64_t first, int64_t last, float* sum) {
  for (int64_t col = 0; col < width; col += kSingleColumns) {
    float part[kSingleColumns];
    for (int64_t l = 0; l < kSingleColumns; ++l) part[l] = sum[col + l];
    for (int64_t e = first; e < last; ++e) {
      prefetch(x + indices[std::min(e + kAhead, last - 1)] * width + col);
      const float w = weights[e];
      const float* row = x + indices[e] * width + col;
      for (int64_t l = 0; l < kSingleColumns; ++l) part[l] += w * row[l];
    }
    for (int64_t l = 0; l < kSingleColumns; ++l) sum[col + l] = part[l];
  }
}

// out = x − W x in single precision on rows [lo, hi), at most kSingleRows; x and out have `width` columns, a
// multiple of kSingleColumns. x is gone through in tiles that fit into the cache. Entries of a row are added
// in their order, whatever the tiles; where columns rise along rows, each tile is used up before the next.
WINKEL_CLONES void remainder_rows(const int32_t* indptr, const int32_t* indices, const float* weights,
                                  const float* x, int64_t n, int64_t width, int64_t lo, int64_t hi,
                                  float* out) {
  const int64_t tile = std::max<int64_t>(1, kTileBytes / (width * static_cast<int64_t>(sizeof(float))));
  int64_t next[kSingleRows];
  for (int64_t i = lo; i < hi; ++i) next[i - lo] = indptr[i];
  std::fill(out + lo * width, out + hi * width, 0.0f);
  for (int64_t begin = 0; begin < n; begin += tile) {
    const int64_t end = begin + tile < n ? begin + tile : n;
    for (int64_t i = lo; i < hi; ++i) {
      const int64_t first = next[i - lo];
      int64_t last = first;
      if (end == n)
        last = indptr[i + 1];  // also what does not rise
      else
        while (last < indptr[i + 1] && indices[last] < end) ++last;
      next[i - lo] = last;
      if (first < last) add_entries(indices, weights, x, width, first, last, out + i * width);
    }
  }
  for (int64_t at = lo * width; at < hi * width; ++at) out[at] = x[at] - out[at];
}

// Replaces x by p(L) x, where p is the Chebyshev polynomial of the given degree that is small on [cut, top]
// and 1 at `low` < cut; `work` has the size of x. The scaled recurrence of Zhou, Saad, Tiago and Chelikowsky
// (2006).
inline void chebyshev_filter(const LaplacianRows& m, int64_t n, int64_t width, int64_t degree, double low,
                             double cut, double top, int threads, double* x, double* work) {
  const double half = (top - cut) / 2, middle = (top + cut) / 2;
  double sigma = half / (low - middle);
  const double tau = 2 / sigma;
  double *now = work, *before = x;
  laplacian_step(m, n, x, x, sigma / half, -middle * sigma / half, 0.0, width, threads, now);
  for (int64_t d = 1; d < degree; ++d) {
    const double next = 1 / (tau - sigma);
    laplacian_step(m, n, now, before, 2 * next / half, -2 * middle * next / half, -sigma * next, width,
                   threads, before);
    std::swap(now, before);
    sigma = next;
  }
  if (now != x) std::copy(now, now + n * width, x);
}

}  // namespace winkel
