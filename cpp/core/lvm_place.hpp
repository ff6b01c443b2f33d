// New points in a fitted latent variable model: EM for the mean and variance of each by itself, while all
// fitted points stay as they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lvm_model.hpp"

namespace winkel::lvm {

// New points: their similar fitted points in compressed rows, the block of fitted points they are dissimilar
// from, their own length scale, and which entries of the block are not dissimilar.
struct NewPoints {
  const int64_t* from;
  const int32_t* similar;
  const double* weights;
  const double* squares;
  const int32_t* block;
  const double* reach;
  const int64_t* except_from;
  const int32_t* except;
  const uint8_t* except_ways;
};

struct Fitted {
  const Family* family;
  double factor;  // of dissimilar weights
  const double* Y;
  const double* variance;
  int64_t d;
};

class Placer {
 public:
  Placer(const Fitted& fitted, const NewPoints& points, int max_iter, double tol)
      : f_(fitted), p_(points), max_iter_(max_iter), tol_(tol), own_(fitted.d), work_(fitted.d) {}

  // Moves mean and variance of new point k as max_iter steps of EM would, which end before that at a maximum
  // of its likelihood. The later a step, the less it differs from the one before: where two steps in a row
  // change the variance alike, the next ones follow, a quarter of all that lie behind.
  void place(int64_t k, double* y, double* variance) {
    begin(k, y);
    std::vector<double> a(dim()), b(dim());
    for (int made = 0; made < max_iter_;) {
      std::copy_n(y, dim(), a.data());
      const double first = 1.0 / *variance;
      if (step(k, y, variance) || ++made == max_iter_) return;
      std::copy_n(y, dim(), b.data());
      const double second = 1.0 / *variance;
      if (step(k, y, variance) || ++made == max_iter_) return;
      const double change = 1.0 / *variance - second;
      const int more = std::min(max_iter_ - made, made / 4 - 2);
      if (more < 1 || !(std::abs(change - (second - first)) <= kAlike * std::abs(change))) continue;
      follow(a, b, more, y);
      *variance = 1.0 / std::max(second + (more + 1) * change, 0.25 * second);  // it grows fourfold at most
      made += more;
    }
  }

 private:
  static constexpr double kAlike = 0.1;  // of a change of one over the variance, which grows by as much at
                                         // each step where the variance vanishes in the end

  size_t dim() const { return static_cast<size_t>(f_.d); }

  // One step of EM; returns whether it was next to nothing.
  bool step(int64_t k, double* y, double* variance) {
    const double before = *variance, moved = move(k, y, before);
    spread(k, y, variance);
    return moved < tol_ * tol_ * before && std::abs(*variance - before) < tol_ * before;
  }

  // Where the mean would be `more` steps after those from a to b to y, if they fall in a constant ratio.
  void follow(const std::vector<double>& a, const std::vector<double>& b, int more, double* y) const {
    double first = 0.0, both = 0.0;
    for (size_t c = 0; c < dim(); ++c) {
      first += (b[c] - a[c]) * (b[c] - a[c]);
      both += (y[c] - b[c]) * (b[c] - a[c]);
    }
    const double ratio = first > 0.0 ? std::min(std::max(both / first, 0.0), 1.0) : 0.0;
    double sum = 0.0, power = 1.0;
    for (int s = 0; s < more; ++s) sum += power *= ratio;
    for (size_t c = 0; c < dim(); ++c) y[c] += sum * (y[c] - b[c]);
  }

  // Packs the block of point k and counts its pairs.
  void begin(int64_t k, const double* y) {
    centre_.assign(y, y + f_.d);
    const size_t b = static_cast<size_t>(p_.block[k]);
    first_ = f_.family->bounds[b];
    const int64_t end = f_.family->bounds[b + 1];
    const size_t tiles = static_cast<size_t>((end - first_ + kTile - 1) / kTile);
    while (tiles_.size() < tiles) tiles_.emplace_back(f_.d);
    n_tiles_ = tiles;
    for (size_t t = 0; t < tiles; ++t) {
      const int64_t lo = first_ + static_cast<int64_t>(t) * kTile;
      tiles_[t].pack(*f_.family, lo, std::min(end, lo + kTile), f_.Y, f_.variance, centre_.data());
    }
    repulsion_ = 2.0 * static_cast<double>(end - first_);
    for (int64_t e = p_.except_from[k]; e < p_.except_from[k + 1]; ++e)
      repulsion_ -= static_cast<double>((p_.except_ways[e] & 1) + (p_.except_ways[e] >> 1 & 1));
    repulsion_ *= f_.factor;
    weight_ = repulsion_;
    for (int64_t e = p_.from[k]; e < p_.from[k + 1]; ++e) weight_ += p_.weights[e];
  }

  // Sums over the block: d forces, or one number for the variance.
  void repel(int64_t k, const double* y, double variance, bool means) {
    own_.pack_one(y, variance, p_.reach[k], centre_.data());
    std::fill(work_.row_sums.begin(), work_.row_sums.end(), 0.0);
    const auto kernels = PairKernels<double>::of(f_.d, means, false);
    for (size_t t = 0; t < n_tiles_; ++t) {
      const Exceptions exceptions{p_.except_from + k, p_.except, p_.except_ways,
                                  first_ + static_cast<int64_t>(t) * kTile};
      const TilePoints<double> own = own_.points(), others = tiles_[t].points();
      kernels.tile(&own, &others, false, &exceptions, f_.d, &work_.scratch, work_.row_sums.data(),
                   work_.column_sums.data());
    }
  }

  // The step of the mean (eq 20 for one point); returns its squared length.
  double move(int64_t k, double* y, double variance) {
    repel(k, y, variance, true);
    gradient_.assign(dim(), 0.0);
    for (size_t c = 0; c < dim(); ++c) gradient_[c] = f_.factor * work_.row_sums[c * kTile];
    double diagonal = repulsion_ / variance;
    for (int64_t e = p_.from[k]; e < p_.from[k + 1]; ++e) {
      const int64_t j = p_.similar[e];
      const double w = p_.weights[e] / (p_.squares[e] + variance + f_.variance[j]);
      diagonal += w;
      for (size_t c = 0; c < dim(); ++c)
        gradient_[c] -= w * (y[c] - f_.Y[static_cast<size_t>(j) * dim() + c]);
    }
    double moved = 0.0;
    for (size_t c = 0; c < dim(); ++c) {
      const double step = gradient_[c] / diagonal;
      y[c] += step;
      moved += step * step;
    }
    return moved;
  }

  // The step of the variance (eq 21 for one point).
  void spread(int64_t k, const double* y, double* variance) {
    repel(k, y, *variance, false);
    double slope = -f_.factor * work_.row_sums[0];
    for (int64_t e = p_.from[k]; e < p_.from[k + 1]; ++e) {
      const size_t j = static_cast<size_t>(p_.similar[e]);
      double r2 = 0.0;
      for (size_t c = 0; c < dim(); ++c) {
        const double difference = y[c] - f_.Y[j * dim() + c];
        r2 += difference * difference;
      }
      const double inverse = 1.0 / (p_.squares[e] + *variance + f_.variance[j]);
      slope += p_.weights[e] * inverse * (r2 * inverse - static_cast<double>(f_.d));
    }
    const double next = 1.0 + *variance * slope / (static_cast<double>(f_.d) * weight_);
    *variance *= std::max(next, kLeastGrowth);
  }

  static constexpr double kLeastGrowth = 1e-3;  // a variance stays positive whatever the rounding

  const Fitted& f_;
  const NewPoints& p_;
  int max_iter_;
  double tol_;
  PackedTile<double> own_;
  Workspace<double> work_;
  std::vector<PackedTile<double>> tiles_;
  std::vector<double> centre_, gradient_;
  size_t n_tiles_ = 0;
  int64_t first_ = 0;
  double repulsion_ = 0.0, weight_ = 0.0;
};

inline void place_new(const Fitted& fitted, const NewPoints& points, int64_t count, int max_iter, double tol,
                      int threads, double* Y, double* variance) {
  parallel_blocks(count, 16, threads, [&](int64_t lo, int64_t hi) {
    Placer placer(fitted, points, max_iter, tol);
    for (int64_t k = lo; k < hi; ++k) {
      poll();
      placer.place(k, Y + k * fitted.d, variance + k);
    }
  });
}

}  // namespace winkel::lvm
