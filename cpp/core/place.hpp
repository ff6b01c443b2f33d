// Places new points among fixed ones, each by itself: the average-distortion problem of one point against
// anchors, minimised by gradient steps of Barzilai and Borwein's length that must lower the value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "distortion.hpp"
#include "near_points.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "volume_grid.hpp"

namespace winkel {

// Anchors that share one distortion: `count` of them a row, or the same ones for all rows.
struct AnchorGroup {
  DistortionLoop<double> loop;
  DistortionParams params;
  const int32_t* anchors;    // q × count, or count when common
  const double* weights;     // as anchors
  const double* deviations;  // q × count, or nullptr
  int64_t count;
  bool common;
};

// A potential in the plane or in space that is held on a grid, and read off by splines; each row feels it by
// its own weight, or all by one. Beyond the grid it is what it is at the nearest place on it. In space,
// points near a place may add to it what the grid is too coarse for.
class HeldPotential {
 public:
  // `grid.nodes[0]` is 1 in the plane, whose sides are the last two.
  HeldPotential(const VolumeGrid& grid, int dimension, const double* held, const double* weights, bool common,
                const NearPoints* close)
      : grid_(grid), dimension_(dimension), held_(held), weights_(weights), common_(common), close_(close) {}

  // The value at y for a row; adds its gradient.
  double add(int64_t row, const double* y, double* gradient) const {
    Splines<double> at[3];
    bool inside[3];
    for (int side = 0; side < dimension_; ++side) {
      const int of = side + 3 - dimension_;  // the side of the grid
      const double last = static_cast<double>(grid_.nodes[of] - (of == 2 ? kPadded : kSupport));
      const double place = (y[side] - grid_.origin[of]) * grid_.per_length;
      inside[side] = place >= 2.0 && place <= last;
      // 2 for what is not a number
      at[side] = splines_at<true>(quintic_, std::min(std::max(2.0, place), last));
    }
    double slopes[3];
    const double weight = weights_[common_ ? 0 : row];
    double value = dimension_ == 2 ? in_plane(at, slopes) : in_space(at, slopes);
    for (int side = 0; side < dimension_; ++side)
      if (inside[side]) gradient[side] += weight * grid_.per_length * slopes[side];
    if (close_ != nullptr) {
      double steep[3] = {};
      value += close_->add(y, steep);
      for (int side = 0; side < 3; ++side) gradient[side] += weight * steep[side];
    }
    return weight * value;
  }

  int dimension() const { return dimension_; }

 private:
  V8<double> line(int64_t a, int64_t b, int64_t c) const {
    return *reinterpret_cast<const Memory8<double>*>(held_ + grid_.line(a, b) + c);
  }

  double in_plane(const Splines<double>* at, double* slopes) const {
    V8<double> flat = {}, steep = {};
    for (int64_t a = 0; a < kSupport; ++a) {
      const V8<double> from = line(0, at[0].first + a, at[1].first);
      flat += at[0].weight[a] * from;
      steep += at[0].slope[a] * from;
    }
    slopes[0] = total<double>(steep * at[1].weight);
    slopes[1] = total<double>(flat * at[1].slope);
    return total<double>(flat * at[1].weight);
  }

  double in_space(const Splines<double>* at, double* slopes) const {
    V8<double> flat = {}, by_plane = {}, by_row = {};
    for (int64_t a = 0; a < kSupport; ++a) {
      V8<double> level = {}, steep = {};
      for (int64_t b = 0; b < kSupport; ++b) {
        const V8<double> from = line(at[0].first + a, at[1].first + b, at[2].first);
        level += at[1].weight[b] * from;
        steep += at[1].slope[b] * from;
      }
      flat += at[0].weight[a] * level;
      by_plane += at[0].slope[a] * level;
      by_row += at[0].weight[a] * steep;
    }
    slopes[0] = total<double>(by_plane * at[2].weight);
    slopes[1] = total<double>(by_row * at[2].weight);
    slopes[2] = total<double>(flat * at[2].slope);
    return total<double>(flat * at[2].weight);
  }

  VolumeGrid grid_;
  int dimension_;
  const double* held_;
  const double* weights_;
  bool common_;
  const NearPoints* close_;
  Quintic<double> quintic_;
};

struct Placement {
  const double* Y;  // positions of the anchors, n × m
  int64_t m;
  const AnchorGroup* groups;
  int n_groups;
  int max_iter;
  double tol;  // stops when the gradient's length falls below this part of its length at the start
  const HeldPotential* potential;  // felt beside the anchors, or nullptr
};

class RowPlacer {
 public:
  explicit RowPlacer(const Placement& p) : p_(p), gradient_(dim()), trial_(dim()), trial_gradient_(dim()) {
    int64_t longest = 0;
    for (int g = 0; g < p.n_groups; ++g) longest = std::max(longest, p.groups[g].count);
    const size_t length = static_cast<size_t>((longest + kLanes - 1) / kLanes * kLanes);
    squares_.resize(length);
    factors_.resize(length);
    columns_.resize(static_cast<size_t>(p.n_groups));
    for (int g = 0; g < p.n_groups; ++g)
      if (p.groups[g].common) fill(p.groups[g], 0, columns_[static_cast<size_t>(g)]);
  }

  // Moves y to a local minimum.
  void place(int64_t row, double* y) {
    for (int g = 0; g < p_.n_groups; ++g)
      if (!p_.groups[g].common || p_.groups[g].deviations)
        fill(p_.groups[g], row, columns_[static_cast<size_t>(g)]);
    double value = evaluate(row, y, gradient_.data());
    const double first = norm(gradient_);
    double step = first > 0.0 ? 0.1 * spread(row, y) / first : 0.0;
    for (int it = 0; it < p_.max_iter && norm(gradient_) > p_.tol * first && step > 0.0; ++it) {
      double slope = norm(gradient_);
      slope *= slope;
      double next = 0.0;
      int tries = 0;
      for (;; step *= 0.25) {
        for (size_t c = 0; c < dim(); ++c) trial_[c] = y[c] - step * gradient_[c];
        next = evaluate(row, trial_.data(), trial_gradient_.data());
        if (next <= value - 1e-4 * step * slope) break;
        if (++tries == 30) return;
      }
      double ss = 0.0, sy = 0.0;
      for (size_t c = 0; c < dim(); ++c) {
        const double s = trial_[c] - y[c];
        ss += s * s;
        sy += s * (trial_gradient_[c] - gradient_[c]);
        y[c] = trial_[c];
      }
      gradient_.swap(trial_gradient_);
      value = next;
      step = sy > 0.0 ? ss / sy : 4.0 * step;
    }
  }

 private:
  size_t dim() const { return static_cast<size_t>(p_.m); }

  static double norm(const std::vector<double>& v) {
    double sum = 0.0;
    for (double x : v) sum += x * x;
    return std::sqrt(sum);
  }

  // Mean distance to the first group of anchors: the scale on which the point may move.
  double spread(int64_t row, const double* y) {
    const AnchorGroup& g = p_.groups[0];
    double sum = 0.0;
    for (int64_t k = 0; k < g.count; ++k) sum += std::sqrt(square(anchor(g, row, k), y));
    return std::max(sum / static_cast<double>(std::max<int64_t>(g.count, 1)), 1e-12);
  }

  const double* anchor(const AnchorGroup& g, int64_t row, int64_t k) const {
    return p_.Y + int64_t{g.anchors[g.common ? k : row * g.count + k]} * p_.m;
  }

  double square(const double* a, const double* y) const {
    double sum = 0.0;
    for (int64_t c = 0; c < p_.m; ++c) sum += (y[c] - a[c]) * (y[c] - a[c]);
    return sum;
  }

  double evaluate(int64_t row, const double* y, double* gradient) {
    std::fill(gradient, gradient + p_.m, 0.0);
    double value = p_.potential == nullptr ? 0.0 : p_.potential->add(row, y, gradient);
    for (int g = 0; g < p_.n_groups; ++g)
      value += add_group(p_.groups[g], columns_[static_cast<size_t>(g)], y, gradient);
    return value;
  }

  int64_t padded(const AnchorGroup& g) const { return (g.count + kLanes - 1) / kLanes * kLanes; }

  // Coordinates, weights and deviations of the anchors of a row, each in a column of its own.
  void fill(const AnchorGroup& g, int64_t row, std::vector<double>& columns) const {
    const size_t length = static_cast<size_t>(padded(g)), m = static_cast<size_t>(p_.m);
    columns.assign((m + 2) * length, 0.0);
    std::fill(columns.begin() + static_cast<int64_t>((m + 1) * length), columns.end(), 1.0);
    for (int64_t k = 0; k < g.count; ++k) {
      const size_t to = static_cast<size_t>(k);
      for (size_t c = 0; c < m; ++c) columns[c * length + to] = anchor(g, row, k)[c];
      columns[m * length + to] = g.weights[g.common ? k : row * g.count + k];
      if (g.deviations) columns[(m + 1) * length + to] = g.deviations[row * g.count + k];
    }
  }

  // The value at y, eight anchors at a time in an order that does not depend on the processor; adds its
  // gradient.
  double add_group(const AnchorGroup& g, const std::vector<double>& columns, const double* y,
                   double* gradient) {
    const int64_t length = padded(g);
    const double *weights = columns.data() + p_.m * length, *deviations = weights + length;
    const auto at = [](const double* from) { return *reinterpret_cast<const Memory8<double>*>(from); };
    for (int64_t k = 0; k < length; k += 8) {
      V8<double> sum = {};
      for (int64_t c = 0; c < p_.m; ++c) {
        const V8<double> apart = y[c] - at(columns.data() + c * length + k);
        sum += apart * apart;
      }
      *reinterpret_cast<Memory8<double>*>(squares_.data() + k) = sum;
    }
    std::fill(squares_.begin() + g.count, squares_.begin() + length, 1.0);
    double value = 0.0;
    for (int64_t k = 0; k < length; k += kChunk)
      value += g.loop(squares_.data() + k, weights + k, deviations + k, std::min(kChunk, length - k),
                      &g.params, factors_.data() + k);
    for (int64_t c = 0; c < p_.m; ++c) {
      V8<double> sum = {};
      for (int64_t k = 0; k < length; k += 8)
        sum += at(factors_.data() + k) * (y[c] - at(columns.data() + c * length + k));
      gradient[c] += total<double>(sum);
    }
    return value;
  }

  const Placement& p_;
  std::vector<double> gradient_, trial_, trial_gradient_, squares_, factors_;
  std::vector<std::vector<double>> columns_;  // one a group
};

// Each row of Y from where it is.
inline void place_rows(const Placement& p, int64_t n_rows, double* Y, int threads) {
  parallel_blocks(n_rows, 16, threads, [&](int64_t lo, int64_t hi) {
    RowPlacer placer(p);
    for (int64_t row = lo; row < hi; ++row) {
      poll();
      placer.place(row, Y + row * p.m);
    }
  });
}

}  // namespace winkel
