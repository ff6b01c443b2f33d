// A radial function by a table: for whatever has no loop of its own, the values k(d) and the pulls k'(d) / d
// as cubic polynomials of the squared distance, on cells that are even within each power of two. The cell of
// a squared distance is read off its bits, and the cells are as narrow in proportion at every distance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "distortion.hpp"
#include "radial.hpp"

namespace winkel {

class RadialTable {
 public:
  static constexpr int kDegree = 3;
  static constexpr int64_t kRow =
      2 * (kDegree + 1);  // coefficients of a cell: of the value, then of the pull

  // Cells from the squared distance 2^first_binade on, 2^bits of them in every power of two. The coefficients
  // are those of powers of t, which runs from 0 to 1 along a cell.
  RadialTable(int first_binade, int bits, double floor, std::vector<double> coefficients)
      : bits_(bits),
        first_(static_cast<int64_t>(first_binade + 1023) << bits),
        cells_(static_cast<int64_t>(coefficients.size()) / kRow),
        floor_(floor),
        coefficients_(std::move(coefficients)) {}

  double floor() const { return floor_; }

  // Value and pull at a squared distance of at least the floor's; beyond the table the last cell's end is
  // taken.
  radial::Effect<double> at(double square) const {
    uint64_t word;
    std::memcpy(&word, &square, sizeof word);
    const int shift = 52 - bits_;
    const int64_t cell = static_cast<int64_t>(word >> shift) - first_;
    const uint64_t rest = word & ((uint64_t{1} << shift) - 1);
    double t = static_cast<double>(rest) / static_cast<double>(uint64_t{1} << shift);
    int64_t row = cell;
    if (cell < 0) row = 0, t = 0.0;
    if (cell >= cells_) row = cells_ - 1, t = 1.0;
    const double* c = coefficients_.data() + row * kRow;
    return {((c[3] * t + c[2]) * t + c[1]) * t + c[0], ((c[7] * t + c[6]) * t + c[5]) * t + c[4]};
  }

  // The same at any squared distance, continued below the floor by the parabola with the value and slope
  // there.
  radial::Effect<double> continued(double square) const {
    const double floor2 = floor_ * floor_;
    const auto f = at(std::max(square, floor2));
    return {f.value + 0.5 * f.pull * (std::min(square, floor2) - floor2), f.pull};
  }

 private:
  int bits_;
  int64_t first_, cells_;
  double floor_;
  std::vector<double> coefficients_;
};

namespace radial {

// The loop (radial.hpp) of the table in the parameters, for any number of components m.
template <class T>
void act_by_table(const T* targets, const Sources<T>* sources, int64_t m, int64_t self,
                  const DistortionParams* params, double* out) {
  const T* x = sources->coordinates;
  for (int64_t s = 0; s < sources->count; ++s) {
    T square[kLanes] = {};
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const T diff = targets[k * kLanes + l] - x[k * sources->stride + s];
        square[l] += diff * diff;
      }
    }
    double pull[kLanes];
    for (int64_t l = 0; l < kLanes; ++l) {
      const auto e = params->table->continued(static_cast<double>(square[l]));
      const double charge = s - self == l ? 0.0 : static_cast<double>(sources->charges[s]);
      out[m * kLanes + l] += charge * e.value;
      pull[l] = charge * e.pull;
    }
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const T diff = targets[k * kLanes + l] - x[k * sources->stride + s];
        out[k * kLanes + l] += pull[l] * static_cast<double>(diff);
      }
    }
  }
}

}  // namespace radial

namespace distortion {

// The loop (distortion.hpp) of the table in the parameters.
inline double apply_table(const double* squares, const double* weights, const double*, int64_t count,
                          const DistortionParams* params, double* factors) {
  double sum = 0.0;
  for (int64_t k = 0; k < count; ++k) {
    const auto f = params->table->continued(squares[k]);
    factors[k] = weights[k] * f.pull;
    sum += weights[k] * f.value;
  }
  return sum;
}

}  // namespace distortion

}  // namespace winkel
