// Weights of neighbours from their distances, row by row: t-SNE's conditional probabilities at a perplexity,
// and UMAP's local fuzzy memberships.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"
#include "vecmath.hpp"

namespace winkel {

namespace calibration {

constexpr int kSteps = 64;          // Newton's or halving ones
constexpr double kEnough = 1e-8;    // of the entropy, or of the sum of memberships
constexpr double kLongest = 16.0;   // a step changes the scale by this factor at most
constexpr double kNothing = 700.0;  // weights exp(-700) and less are zero
constexpr int64_t kWide = 8;        // numbers side by side

// Sums of p = exp(-beta x), p x and p x^2 over `padded` numbers x >= 0, a multiple of kWide; p (times 0 or 1,
// for the padding) is kept.
struct Sums {
  double zeroth = 0.0, first = 0.0, second = 0.0;
};

WINKEL_CLONES void sum_exponentials(const double* __restrict x, const double* __restrict there,
                                    int64_t padded, double beta, double* __restrict p, Sums* sums) {
  double zeroth[kWide] = {}, first[kWide] = {}, second[kWide] = {};
  for (int64_t j = 0; j < padded; j += kWide) {
    for (int64_t l = 0; l < kWide; ++l) {
      const double exponent = beta * x[j + l];
      const double weight = exponent < kNothing ? there[j + l] * vecmath::exp(-exponent) : 0.0;
      p[j + l] = weight;
      zeroth[l] += weight;
      first[l] += weight * x[j + l];
      second[l] += weight * x[j + l] * x[j + l];
    }
  }
  const auto total = [](const double* s) {
    return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  };
  *sums = {total(zeroth), total(first), total(second)};
}

// What one thread works in: a row's numbers, padded, and their weights.
struct Row {
  explicit Row(int64_t k)
      : count(k),
        x(static_cast<size_t>((k + kWide - 1) / kWide * kWide), 0.0),
        p(x.size(), 0.0),
        there(x.size(), 0.0) {
    std::fill_n(there.begin(), k, 1.0);
  }

  Sums at(double beta) {
    Sums sums;
    kernel<sum_exponentials>()(x.data(), there.data(), static_cast<int64_t>(x.size()), beta, p.data(), &sums);
    return sums;
  }

  int64_t count;
  std::vector<double> x, p, there;
};

// The next beta: Newton's, unless that leaves the bracket or goes too far at once.
struct Bracket {
  double low = 0.0, high = INFINITY;

  double next(double beta, double newton) {
    const double least = std::max(low, beta / kLongest), most = std::min(high, beta * kLongest);
    if (newton > least && newton < most) return newton;
    if (std::isinf(high)) return kLongest * beta;
    return 0.5 * (low + high);
  }
};

}  // namespace calibration

// p_j proportional to exp(-beta d_j^2) with the entropy log(perplexity) (natural logarithm), found by
// Newton's method: the entropy falls by beta times the variance of d^2 under p. Distances of a row ascend.
// When fewer neighbours than `perplexity` have room, all weigh the same.
template <class T>
void calibrate_perplexity_row(const T* distances, double target, calibration::Row& row, T* out) {
  const int64_t k = row.count;
  const double farthest = static_cast<double>(distances[k - 1]), scale = farthest > 0.0 ? farthest : 1.0;
  const double first = static_cast<double>(distances[0]) / scale;
  // Squares relative to the nearest, so that the largest weight is one, and to the farthest, so that nothing
  // overflows.
  for (int64_t j = 0; j < k; ++j) {
    const double d = static_cast<double>(distances[j]) / scale;
    row.x[static_cast<size_t>(j)] = (d - first) * (d + first);
  }
  calibration::Bracket bracket;
  double beta = 1.0;
  calibration::Sums sums = row.at(beta);
  for (int it = 0; it < calibration::kSteps; ++it) {
    const double mean = sums.first / sums.zeroth, variance = sums.second / sums.zeroth - mean * mean;
    const double excess = vecmath::log(sums.zeroth) + beta * mean - target;
    if (std::abs(excess) < calibration::kEnough) break;
    (excess > 0.0 ? bracket.low : bracket.high) = beta;
    // Equal distances have one entropy whatever beta is: there is nothing to find.
    if (!(sums.first > 0.0)) break;
    beta = bracket.next(beta, beta + excess / (beta * std::max(variance, 1e-300)));
    sums = row.at(beta);
  }
  for (int64_t j = 0; j < k; ++j) out[j] = static_cast<T>(row.p[static_cast<size_t>(j)] / sums.zeroth);
}

// exp(-beta max(0, d_j - rho)), rho the smallest positive distance, with the sum `target`, which beta is
// found for by Newton's method; 1 / beta is at least `least` times the mean distance of the row.
template <class T>
void calibrate_fuzzy_row(const T* distances, double target, double least, calibration::Row& row, T* out) {
  const int64_t k = row.count;
  double rho = 0.0, mean = 0.0;
  for (int64_t j = k; j > 0; --j) {
    const double d = static_cast<double>(distances[j - 1]);
    if (d > 0.0) rho = d;
    mean += d / static_cast<double>(k);
  }
  // Relative to the mean, so that nothing overflows.
  const double scale = mean > 0.0 ? mean : 1.0;
  for (int64_t j = 0; j < k; ++j)
    row.x[static_cast<size_t>(j)] = std::max(0.0, static_cast<double>(distances[j]) - rho) / scale;
  calibration::Bracket bracket;
  double beta = 1.0;
  for (int it = 0; it < calibration::kSteps; ++it) {
    const calibration::Sums sums = row.at(beta);
    const double excess = sums.zeroth - target;
    if (std::abs(excess) < calibration::kEnough) break;
    (excess > 0.0 ? bracket.low : bracket.high) = beta;
    if (!(sums.first > 0.0)) break;  // nobody is farther than rho, or all others weigh nothing
    beta = bracket.next(beta, beta + excess / sums.first);
  }
  if (mean > 0.0 && least > 0.0) beta = std::min(beta, 1.0 / least);
  row.at(beta);
  for (int64_t j = 0; j < k; ++j) out[j] = static_cast<T>(row.p[static_cast<size_t>(j)]);
}

template <class T>
void calibrate_perplexity(const T* distances, int64_t n, int64_t k, double perplexity, int threads, T* out) {
  const double target = vecmath::log(std::min(perplexity, static_cast<double>(k)));
  parallel_blocks(n, 64, threads, [&](int64_t lo, int64_t hi) {
    calibration::Row row(k);
    for (int64_t i = lo; i < hi; ++i) calibrate_perplexity_row(distances + i * k, target, row, out + i * k);
  });
}

template <class T>
void calibrate_fuzzy(const T* distances, int64_t n, int64_t k, double target, double least, int threads,
                     T* out) {
  parallel_blocks(n, 64, threads, [&](int64_t lo, int64_t hi) {
    calibration::Row row(k);
    for (int64_t i = lo; i < hi; ++i) calibrate_fuzzy_row(distances + i * k, target, least, row, out + i * k);
  });
}

}  // namespace winkel
