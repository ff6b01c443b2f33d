// Weights of neighbours from their distances, row by row: t-SNE's conditional probabilities at a perplexity,
// and UMAP's local fuzzy memberships.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "vecmath.hpp"

namespace winkel {

constexpr int kBisections = 64;

// p_j proportional to exp(-beta d_j^2) with the entropy log(perplexity) (natural logarithm), which is
// bisected for. Distances of a row ascend. When fewer neighbours than `perplexity` have room, all weigh the
// same.
template <class T>
void calibrate_perplexity_row(const T* distances, int64_t k, double target, std::vector<double>& squares,
                              T* out) {
  const double nearest = static_cast<double>(distances[0]), scale = static_cast<double>(distances[k - 1]);
  for (int64_t j = 0; j < k; ++j) {
    // Relative to the nearest, so that the largest weight is one, and to the farthest, so that nothing
    // overflows.
    const double d = static_cast<double>(distances[j]) / (scale > 0.0 ? scale : 1.0);
    const double first = scale > 0.0 ? nearest / scale : 0.0;
    squares[static_cast<size_t>(j)] = (d - first) * (d + first);
  }
  double beta = 1.0, low = 0.0, high = INFINITY, sum = 0.0;
  for (int it = 0; it < kBisections; ++it) {
    double moment = 0.0;
    sum = 0.0;
    for (int64_t j = 0; j < k; ++j) {
      const double p = vecmath::decay(-beta * squares[static_cast<size_t>(j)]);
      sum += p;
      moment += p * squares[static_cast<size_t>(j)];
    }
    const double excess = vecmath::log(sum) + beta * moment / sum - target;
    if (std::abs(excess) < 1e-8) break;
    if (excess > 0.0) {
      low = beta;
      beta = std::isinf(high) ? 2.0 * beta : 0.5 * (low + high);
    } else {
      high = beta;
      beta = 0.5 * (low + high);
    }
    // Equal distances have one entropy whatever beta is: there is nothing to find.
    if (!(beta < 1e300)) break;
  }
  sum = 0.0;
  beta = std::min(beta, 1e300);
  for (int64_t j = 0; j < k; ++j) sum += vecmath::decay(-beta * squares[static_cast<size_t>(j)]);
  for (int64_t j = 0; j < k; ++j)
    out[j] = static_cast<T>(vecmath::decay(-beta * squares[static_cast<size_t>(j)]) / sum);
}

// exp(-max(0, d_j - rho) / sigma), rho the smallest positive distance, with the sum `target`, which sigma is
// bisected for; sigma is at least `least` times the mean distance of the row.
template <class T>
void calibrate_fuzzy_row(const T* distances, int64_t k, double target, double least, T* out) {
  double rho = 0.0, mean = 0.0;
  for (int64_t j = k; j > 0; --j) {
    const double d = static_cast<double>(distances[j - 1]);
    if (d > 0.0) rho = d;
    mean += d / static_cast<double>(k);
  }
  double sigma = mean > 0.0 ? mean : 1.0, low = 0.0, high = INFINITY;
  for (int it = 0; it < kBisections; ++it) {
    double sum = 0.0;
    for (int64_t j = 0; j < k; ++j)
      sum += vecmath::decay(-std::max(0.0, static_cast<double>(distances[j]) - rho) / sigma);
    if (std::abs(sum - target) < 1e-8) break;
    if (sum > target) {
      high = sigma;
      sigma = 0.5 * (low + high);
    } else {
      low = sigma;
      sigma = std::isinf(high) ? 2.0 * sigma : 0.5 * (low + high);
    }
    if (!(sigma < 1e300) || sigma < 1e-300) break;
  }
  sigma = std::max(sigma, std::max(least * mean, 1e-300));
  for (int64_t j = 0; j < k; ++j)
    out[j] = static_cast<T>(vecmath::decay(-std::max(0.0, static_cast<double>(distances[j]) - rho) / sigma));
}

template <class T>
void calibrate_perplexity(const T* distances, int64_t n, int64_t k, double perplexity, int threads, T* out) {
  const double target = vecmath::log(std::min(perplexity, static_cast<double>(k)));
  parallel_blocks(n, 64, threads, [&](int64_t lo, int64_t hi) {
    std::vector<double> squares(static_cast<size_t>(k));
    for (int64_t i = lo; i < hi; ++i)
      calibrate_perplexity_row(distances + i * k, k, target, squares, out + i * k);
  });
}

template <class T>
void calibrate_fuzzy(const T* distances, int64_t n, int64_t k, double target, double least, int threads,
                     T* out) {
  parallel_blocks(n, 64, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) calibrate_fuzzy_row(distances + i * k, k, target, least, out + i * k);
  });
}

}  // namespace winkel
