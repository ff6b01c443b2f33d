// What fixed points within a reach add to the Cauchy potential Σ 1 / (1 + s), s the squared distance, of
// which a coarse grid holds the rest: in space a map may be so wide that no grid that knows single points can
// hold it.
//
// With e the squared reach and t = (e - s) / (1 + e), t⁵ / (1 + s) is what 1 / (1 + s) has beyond its Taylor
// polynomial of degree 4 at e: it ends at the reach with four derivatives, and the rest is smooth on its
// scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace winkel {

class NearPoints {
 public:
  static constexpr double kMostCells = 16777216.0;

  NearPoints(const double* Y, int64_t n, double reach)
      : reach_square_(reach * reach), per_length_(1.0 / reach) {
    for (int side = 0; side < 3; ++side) {
      double low = Y[side], high = Y[side];
      for (int64_t i = 1; i < n; ++i) {
        low = std::min(low, Y[3 * i + side]);
        high = std::max(high, Y[3 * i + side]);
      }
      low_[side] = low;
      cells_[side] = cells_in(high - low, reach);
    }
    std::vector<int64_t> cell(static_cast<size_t>(n));
    first_.assign(static_cast<size_t>(cells_[0] * cells_[1] * cells_[2]) + 1, 0);
    for (int64_t i = 0; i < n; ++i) {
      int64_t at[3];
      for (int side = 0; side < 3; ++side)
        at[side] = std::min(static_cast<int64_t>(place(Y + 3 * i, side)), cells_[side] - 1);
      cell[static_cast<size_t>(i)] = number(at[0], at[1], at[2]);
      ++first_[static_cast<size_t>(cell[static_cast<size_t>(i)]) + 1];
    }
    for (size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
    std::vector<int64_t> next(first_.begin(), first_.end() - 1);
    points_.resize(static_cast<size_t>(3 * n));
    for (int64_t i = 0; i < n; ++i)
      std::copy_n(Y + 3 * i, 3,
                  points_.data() + 3 * next[static_cast<size_t>(cell[static_cast<size_t>(i)])]++);
  }

  // How many cells of the reach's length a side has.
  static int64_t cells_in(double side, double reach) { return static_cast<int64_t>(side / reach) + 1; }

  // The value at y, point by point in the order of cells; its gradient is added to `slopes`.
  double add(const double* y, double* slopes) const {
    int64_t from[3], to[3];
    for (int side = 0; side < 3; ++side) {
      const double at = place(y, side);
      if (!(at > -1.0 && at < static_cast<double>(cells_[side] + 1))) return 0.0;
      const int64_t cell = static_cast<int64_t>(std::floor(at));
      from[side] = std::max<int64_t>(cell - 1, 0);
      to[side] = std::min<int64_t>(cell + 1, cells_[side] - 1);
    }
    const double whole = 1.0 / (1.0 + reach_square_);
    double value = 0.0, sums[3] = {};
    for (int64_t a = from[0]; a <= to[0]; ++a)
      for (int64_t b = from[1]; b <= to[1]; ++b) {  // cells along the last side follow each other
        const double* end = points_.data() + 3 * first_[static_cast<size_t>(number(a, b, to[2])) + 1];
        const double* p = points_.data() + 3 * first_[static_cast<size_t>(number(a, b, from[2]))];
        for (; p != end; p += 3) {
          const double x0 = y[0] - p[0], x1 = y[1] - p[1], x2 = y[2] - p[2];
          const double s = x0 * x0 + x1 * x1 + x2 * x2;
          if (s >= reach_square_) continue;
          const double t = (reach_square_ - s) * whole, kernel = 1.0 / (1.0 + s);
          const double fourth = t * t * t * t, part = fourth * t * kernel;
          const double slope = -2.0 * kernel * (5.0 * fourth * whole + part);
          value += part;
          sums[0] += slope * x0;
          sums[1] += slope * x1;
          sums[2] += slope * x2;
        }
      }
    for (int side = 0; side < 3; ++side) slopes[side] += sums[side];
    return value;
  }

 private:
  double place(const double* y, int side) const { return (y[side] - low_[side]) * per_length_; }
  int64_t number(int64_t a, int64_t b, int64_t c) const { return (a * cells_[1] + b) * cells_[2] + c; }

  double reach_square_, per_length_;
  double low_[3];
  int64_t cells_[3];
  std::vector<int64_t> first_;  // of each cell, in points_
  std::vector<double> points_;  // cell by cell, in each by their numbers
};

}  // namespace winkel
