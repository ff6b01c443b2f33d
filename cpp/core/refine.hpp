// True distances of candidate neighbours, from the data as given.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

enum class DistanceKind { euclidean, cosine, manhattan, chebyshev, hamming, jaccard, correlation };

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

// Squares of numbers below 1e-140 underflow: sums that small are taken again, stretched by a power of two.
constexpr double kTinySum = 1e-280, kStretch = 0x1p800;

// Inlined, so that each form of true_distance has its own: else the baseline would run in all of them.
template <class T>
WINKEL_CLONES double euclidean_distance(const T* x, const T* y, int64_t n) {
  const auto sum = [=](double stretch) __attribute__((always_inline)) {
    return lane_sum(x, y, n, [=](T a, T b) {
      const double d = (static_cast<double>(a) - static_cast<double>(b)) * stretch;
      return d * d;
    });
  };
  const double plain = sum(1.0);
  return plain < kTinySum ? std::sqrt(sum(kStretch)) / kStretch : std::sqrt(plain);
}

// The direction of a row, about its mean if `centred`: coordinates at(x[k]) and their length, which is 0 for
// rows of zeros and, about the mean, for constant rows.
template <class T>
struct Direction {
  const T* x;
  double mean = 0.0, rest = 0.0, stretch = 1.0, length = 0.0;

  Direction(const T* row, int64_t n, bool centred) : x(row) {
    length = norm(n);
    if (length * length < kTinySum) {
      stretch = kStretch;
      length = norm(n);
    }
    if (!centred) return;
    if (std::all_of(x, x + n, [&](T a) { return a == x[0]; })) {
      length = 0.0;
    } else {
      mean = average(n);
      rest = average(n);  // what rounding left in the mean
      length = norm(n);
    }
  }
  double at(T a) const { return (static_cast<double>(a) * stretch - mean) - rest; }

 private:
  double average(int64_t n) const {
    return lane_sum(x, x, n, [&](T a, T) { return at(a); }) / static_cast<double>(n);
  }
  double norm(int64_t n) const {
    return std::sqrt(lane_sum(x, x, n, [&](T a, T) { return at(a) * at(a); }));
  }
};

// 1 - cos as half the squared distance of the directions: no cancellation for nearly parallel rows. The
// shorter row is stretched to the longer one's length, so equal rows are at distance 0 and order does not
// matter, with or without fused multiplication.
template <class T>
WINKEL_CLONES double cosine_distance(const T* x, const T* y, int64_t n, bool centred) {
  Direction<T> u(x, n, centred), v(y, n, centred);
  if (u.length == 0.0 || v.length == 0.0) return u.length == v.length ? 0.0 : 1.0;
  if (u.length < v.length) std::swap(u, v);
  const double ratio = u.length / v.length;
  const double sum = lane_sum(u.x, v.x, n, [&](T a, T b) {
    const double d = u.at(a) - v.at(b) * ratio;
    return d * d;
  });
  return 0.5 * (sum / (u.length * u.length));
}

template <class T>
WINKEL_CLONES double chebyshev_distance(const T* x, const T* y, int64_t n) {
  double largest = 0.0;
  for (int64_t k = 0; k < n; ++k)
    largest = std::max(largest, std::abs(static_cast<double>(x[k]) - static_cast<double>(y[k])));
  return largest;
}

template <class T>
WINKEL_CLONES double jaccard_distance(const T* x, const T* y, int64_t n) {
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
      return cosine_distance(x, y, n, false);
    case DistanceKind::correlation:
      return cosine_distance(x, y, n, true);
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
