// True distances of candidate neighbours, from the data as given.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace winkel {

enum class DistanceKind { euclidean, cosine, manhattan, chebyshev, hamming, jaccard };

// Eight fixed lanes, so that the sum has the same bytes for every instruction set that rounds alike.
template <class T, class Term>
__attribute__((always_inline)) inline double lane_sum(const T* x, const T* y, int64_t n, const Term& term) {
  double lane[8] = {};
  int64_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (int l = 0; l < 8; ++l) lane[l] += term(x[k + l], y[k + l]);
  for (int l = 0; k < n; ++k, ++l) lane[l] += term(x[k], y[k]);
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

template <class T>
double euclidean_distance(const T* x, const T* y, int64_t n) {
  return std::sqrt(lane_sum(x, y, n, [](T a, T b) {
    const double d = static_cast<double>(a) - static_cast<double>(b);
    return d * d;
  }));
}

template <class T>
double cosine_distance(const T* x, const T* y, int64_t n) {
  const auto product = [](T a, T b) { return static_cast<double>(a) * static_cast<double>(b); };
  const double xx = lane_sum(x, x, n, product), yy = lane_sum(y, y, n, product);
  if (xx == 0.0 || yy == 0.0) return xx == yy ? 0.0 : 1.0;
  // 1 - cos as half the squared distance of the directions: no cancellation for nearly parallel rows.
  const double sx = 1.0 / std::sqrt(xx), sy = 1.0 / std::sqrt(yy);
  return 0.5 * lane_sum(x, y, n, [=](T a, T b) {
           const double d = static_cast<double>(a) * sx - static_cast<double>(b) * sy;
           return d * d;
         });
}

template <class T>
double chebyshev_distance(const T* x, const T* y, int64_t n) {
  double largest = 0.0;
  for (int64_t k = 0; k < n; ++k)
    largest = std::max(largest, std::abs(static_cast<double>(x[k]) - static_cast<double>(y[k])));
  return largest;
}

template <class T>
double jaccard_distance(const T* x, const T* y, int64_t n) {
  int64_t both = 0, either = 0;
  for (int64_t k = 0; k < n; ++k) {
    const bool a = x[k] != T{0}, b = y[k] != T{0};
    both += a && b;
    either += a || b;
  }
  return either > 0 ? 1.0 - static_cast<double>(both) / static_cast<double>(either) : 0.0;
}

template <class T>
WINKEL_CLONES double true_distance(DistanceKind kind, const T* x, const T* y, int64_t n) {
  switch (kind) {
    case DistanceKind::cosine:
      return cosine_distance(x, y, n);
    case DistanceKind::manhattan:
      return lane_sum(x, y, n,
                      [](T a, T b) { return std::abs(static_cast<double>(a) - static_cast<double>(b)); });
    case DistanceKind::chebyshev:
      return chebyshev_distance(x, y, n);
    case DistanceKind::hamming:
      return lane_sum(x, y, n, [](T a, T b) { return a != b ? 1.0 : 0.0; }) / static_cast<double>(n);
    case DistanceKind::jaccard:
      return jaccard_distance(x, y, n);
    default:
      return euclidean_distance(x, y, n);
  }
}

}  // namespace winkel
