// Dissimilar pairs of the latent variable model (Saul 2020), a tile of points against another.
//
// With s = Delta^2 + sigma_i^2 + sigma_j^2, q = (sigma_i^2 + sigma_j^2) / Delta^2 and v = |mu_i - mu_j|^2 /
// 2s the chance that the pair coincides is P = exp(-v) / (1 + q)^{d/2} (eq 5), and its odds (eq 9)
//
//   nu = P / (1 - P) = exp(-v) / (((1 + q)^{d/2} - 1) + (1 - exp(-v))),
//
// a quotient of sums of positive numbers, exact to rounding for P near 0 and near 1. A pair acts along
// mu_i - mu_j with strength nu / s (eq 11), and on both variances with (nu / s) (|mu_i - mu_j|^2 / s - d)
// (eq 17).
#pragma once

#include <cmath>
#include <cstdint>

#include "parallel.hpp"
#include "simd.hpp"
#include "vecmath.hpp"

namespace winkel::lvm {

constexpr int64_t kTile = 256;  // points in a tile, a multiple of kLanes

// Points of one tile, coordinate by coordinate; places past `count` have no mass.
template <class T>
struct TilePoints {
  const T* y;         // d × kTile
  const T* variance;  // kTile each
  const T* reach;     // Delta_ij = reach_i + slack_j
  const T* slack;
  const T* mass;  // the weight of i, j is mass_i mass_j
  int64_t count;
};

// Pairs of a tile that are not dissimilar in one direction or both: for point i those at from[i] .. from[i +
// 1] of `entry` (numbers that begin at `first` with the columns' tile).
struct Exceptions {
  const int64_t* from;  // nullptr when there are none
  const int32_t* entry;
  const uint8_t* ways;  // 1: the pair i, j; 2: the pair j, i
  int64_t first;
};

// What a tile needs beside the points: weights of the columns in both directions, and a row's pairs.
template <class T>
struct TileScratch {
  T forth[kTile], back[kTile];
  T squares[kTile], action[kTile];
};

template <class T>
struct Chance {
  T near, far;  // exp(-v) and 1 - exp(-v)
};

template <class T>
WINKEL_INLINE Chance<T> chance(T v) {
  const auto e = vecmath::exp_parts(-v);
  return {e.power + e.power * e.fraction, (T(1) - e.power) - e.power * e.fraction};
}

template <class T>
struct Action {
  T on_means, on_variances;  // nu / s, (nu / s) (r^2 / s - d)
  T p, rest;                 // P and 1 - P
};

// log(1 - P) of both directions together, which takes one logarithm: with u = 1 - (1 - P_1)(1 - P_2), a sum
// of positive numbers, from u where that is small and from the product where that is.
template <class T>
WINKEL_INLINE T log_far(T p1, T rest1, T p2, T rest2) {
  constexpr T tiny = T(0x1p-60), lift = T(0x1p+64), log_lift = T(44.3614195558364998);
  const T u = p1 + p2 * rest1;
  const bool small = u < T(0.5), low1 = rest1 < tiny, low2 = rest2 < tiny;
  // Tiny factors are lifted, so that their product is a normal number.
  const T first = vecmath::larger(rest1, T(1e-37)) * (low1 ? lift : T(1));
  const T second = vecmath::larger(rest2, T(1e-37)) * (low2 ? lift : T(1));
  const T lifted = (low1 ? log_lift : T(0)) + (low2 ? log_lift : T(0));
  const T t = small ? T(1) - u : first * second;
  const T lost = u + (t - T(1));  // what 1 - u rounded away
  return vecmath::log(t) - (small ? lost : lifted);
}

// How (1 + q)^{d/2} - 1 is made, and all that follows from it: for d = 2 it is q; for an even d up to 14, and
// for an odd one up to 7 from the root of 1 + q, it takes two squarings; otherwise it is exp(log(1 + q) d /
// 2) - 1.
enum class Power { planar, product, root, general };

inline Power power_for(int64_t d) {
  if (d == 2) return Power::planar;
  if (d % 2 == 0) return d <= 14 ? Power::product : Power::general;
  return d <= 7 ? Power::root : Power::general;
}

// The number of dimensions, and the bits of the exponent as numbers.
template <class T>
struct Dimension {
  explicit Dimension(int64_t d) : count(static_cast<T>(d)), half(T(0.5) * static_cast<T>(d)) {
    const int64_t exponent = d % 2 == 0 ? d / 2 : d;
    one = static_cast<T>(exponent & 1);
    two = static_cast<T>(exponent >> 1 & 1);
    four = static_cast<T>(exponent >> 2 & 1);
  }
  T count, half, one, two, four;
};

// (1 + q)^{d/2} - 1, exact to rounding for small q and held below overflow.
template <class T, Power How>
WINKEL_INLINE T half_power_excess(T q, const Dimension<T>& d) {
  constexpr T most = sizeof(T) == 4 ? T(1e18) : T(1e150);
  constexpr T log_most = sizeof(T) == 4 ? T(41) : T(345);
  if constexpr (How == Power::root) q = q / (T(1) + std::sqrt(T(1) + q));
  if constexpr (How != Power::general) {
    q = vecmath::smaller(q, sizeof(T) == 4 ? T(1e9) : T(1e75));  // (1 + q)^4 is a number
    const T q2 = q * (q + T(2)), q4 = q2 * (q2 + T(2));
    const T a = d.one * q, b = d.two * q2, c = d.four * q4;
    const T ab = a + b + a * b;
    return vecmath::smaller(ab + c + ab * c, most);
  }
  return vecmath::expm1(vecmath::smaller(d.half * vecmath::log1p(q), log_most));
}

// One direction of a pair on the length scale delta.
template <class T, Power How, bool Value>
WINKEL_INLINE Action<T> act_once(T delta, T sigma, T r2, const Dimension<T>& d) {
  const T square = delta * delta;
  const T inverse = T(1) / (square + sigma);
  const T scaled = r2 * inverse;
  const auto c = chance(T(0.5) * scaled);
  const T excess = half_power_excess<T, How>(sigma / square, d);
  const T t = vecmath::larger(excess + c.far, T(1e-37)), all = T(1) + excess;
  if constexpr (Value) {
    const T shared = T(1) / (t * all);  // one division for nu and for P
    const T strength = c.near * (shared * all) * inverse, whole = shared * t;
    return {strength, strength * (scaled - d.count), c.near * whole, t * whole};
  }
  const T strength = c.near / t * inverse;
  return {strength, strength * (scaled - d.count), T(0), T(1)};
}

// The same for d = 2, where (1 + q) - 1 = q: everything times delta^2 saves divisions.
template <class T>
WINKEL_INLINE Action<T> act_planar(T delta, T sigma, T r2) {
  const T square = delta * delta;
  const T inverse = T(1) / (square + sigma);
  const T scaled = r2 * inverse;
  const auto c = chance(T(0.5) * scaled);
  const T t = vecmath::larger(sigma + c.far * square, T(1e-37));
  const T p = c.near * square * inverse;
  const T strength = p / t;
  return {strength, strength * (scaled - T(2)), p, t * inverse};
}

// Sums run in kLanes lanes whatever the width of the hardware, and end in a fixed order.
template <class T>
WINKEL_INLINE T fold_lanes(T* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

// What a pair does, both directions together. Their weights are one and the same number, or zero where the
// pair is not dissimilar in that direction.
template <class T, Power How, bool Means, bool Value>
WINKEL_INLINE T act_both(T r2, T sigma, T forth_scale, T back_scale, T forth, T back, const Dimension<T>& d,
                         T& value) {
  Action<T> out, in;
  if constexpr (How == Power::planar) {
    out = act_planar<T>(forth_scale, sigma, r2);
    in = act_planar<T>(back_scale, sigma, r2);
  } else {
    out = act_once<T, How, Value>(forth_scale, sigma, r2, d);
    in = act_once<T, How, Value>(back_scale, sigma, r2, d);
  }
  if constexpr (Value) {
    const bool there = forth > T(0), here = back > T(0);
    value += vecmath::larger(forth, back) * log_far(there ? out.p : T(0), there ? out.rest : T(1),
                                                    here ? in.p : T(0), here ? in.rest : T(1));
  }
  return Means ? forth * out.on_means + back * in.on_means
               : forth * out.on_variances + back * in.on_variances;
}

// Point i of `rows` against columns [lo, hi) in two dimensions, all in one loop. Returns Σ w log(1 − P).
template <class T, bool Means, bool Value>
WINKEL_INLINE T planar_row(const TilePoints<T>* rows, const TilePoints<T>* columns, int64_t i, int64_t lo,
                           int64_t hi, const TileScratch<T>* scratch, T* __restrict row_sums,
                           T* __restrict column_sums) {
  const T* __restrict x = columns->y;
  const T* __restrict y = columns->y + kTile;
  const T* __restrict variance = columns->variance;
  const T* __restrict reach = columns->reach;
  const T* __restrict slack = columns->slack;
  const T* __restrict forth = scratch->forth;
  const T* __restrict back = scratch->back;
  const T own_x = rows->y[i], own_y = rows->y[kTile + i], own_variance = rows->variance[i];
  const T own_reach = rows->reach[i], own_slack = rows->slack[i], own_mass = rows->mass[i];
  const Dimension<T> dimension(2);
  T first[kLanes] = {}, second[kLanes] = {}, value[kLanes] = {};
  for (int64_t j0 = lo; j0 < hi; j0 += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t j = j0 + l;
      const T dx = own_x - x[j], dy = own_y - y[j], sigma = own_variance + variance[j];
      const T r2 = dx * dx + dy * dy;
      const T strength = act_both<T, Power::planar, Means, Value>(r2, sigma, own_reach + slack[j],
                                                                  own_slack + reach[j], own_mass * forth[j],
                                                                  own_mass * back[j], dimension, value[l]);
      if constexpr (Means) {
        first[l] += strength * dx;
        second[l] += strength * dy;
        column_sums[j] -= strength * dx;
        column_sums[kTile + j] -= strength * dy;
      } else {
        first[l] += strength;
        column_sums[j] += strength;
      }
    }
  }
  row_sums[i] += fold_lanes(first);
  if constexpr (Means) row_sums[kTile + i] += fold_lanes(second);
  return fold_lanes(value);
}

// The same in any number of dimensions, step by step over the columns.
template <class T, Power How, bool Means, bool Value>
WINKEL_INLINE T general_row(const TilePoints<T>* rows, const TilePoints<T>* columns, int64_t i, int64_t lo,
                            int64_t hi, int64_t d, TileScratch<T>* scratch, T* __restrict row_sums,
                            T* __restrict column_sums) {
  const T* __restrict reach = columns->reach;
  const T* __restrict slack = columns->slack;
  const T* __restrict variance = columns->variance;
  const T* __restrict forth = scratch->forth;
  const T* __restrict back = scratch->back;
  T* __restrict squares = scratch->squares;
  T* __restrict action = scratch->action;
  const T own_variance = rows->variance[i], own_mass = rows->mass[i];
  const T own_reach = rows->reach[i], own_slack = rows->slack[i];
  const Dimension<T> dimension(d);
  for (int64_t j = lo; j < hi; ++j) squares[j] = T(0);
  for (int64_t c = 0; c < d; c += 2) {
    // Two coordinates at a time; an odd number ends with one that counts once.
    const int64_t second = c + 1 < d ? c + 1 : c;
    const T share = second == c ? T(0) : T(1);
    const T own = rows->y[c * kTile + i], next = rows->y[second * kTile + i];
    const T* __restrict other = columns->y + c * kTile;
    const T* __restrict beside = columns->y + second * kTile;
    for (int64_t j = lo; j < hi; ++j) {
      const T a = own - other[j], b = share * (next - beside[j]);
      squares[j] += a * a + b * b;
    }
  }
  T value[kLanes] = {};
  for (int64_t j0 = lo; j0 < hi; j0 += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t j = j0 + l;
      action[j] = act_both<T, How, Means, Value>(squares[j], own_variance + variance[j], own_reach + slack[j],
                                                 own_slack + reach[j], own_mass * forth[j],
                                                 own_mass * back[j], dimension, value[l]);
    }
  }
  for (int64_t c = 0; c < (Means ? d : 1); ++c) {
    const T own = rows->y[c * kTile + i];
    const T* __restrict other = columns->y + c * kTile;
    T* __restrict there = column_sums + c * kTile;
    T sum[kLanes] = {};
    for (int64_t j0 = lo; j0 < hi; j0 += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const T part = Means ? action[j0 + l] * (own - other[j0 + l]) : -action[j0 + l];
        sum[l] += part;
        there[j0 + l] -= part;
      }
    }
    const T whole = fold_lanes(sum);
    row_sums[c * kTile + i] += Means ? whole : -whole;
  }
  return fold_lanes(value);
}

// Adds the pairs of `rows` × `columns` (of rows × later rows when they are the same tile) to the sums of
// both: d × kTile of forces when Means, kTile otherwise. Returns the sum of w log(1 - P) when Value.
template <class T, Power How, bool Means, bool Value>
WINKEL_CLONES double tile_pairs(const TilePoints<T>* rows, const TilePoints<T>* columns, bool same,
                                const Exceptions* exceptions, int64_t d, TileScratch<T>* scratch, T* row_sums,
                                T* column_sums) {
  const int64_t end = (columns->count + kLanes - 1) / kLanes * kLanes;
  for (int64_t j = 0; j < end; ++j) scratch->forth[j] = scratch->back[j] = columns->mass[j];
  double total = 0.0;
  for (int64_t i = 0; i < rows->count; ++i) {
    if (same) scratch->forth[i] = scratch->back[i] = T(0);
    int64_t first = 0, last = 0;
    if (exceptions->from != nullptr) {
      first = exceptions->from[i];
      last = exceptions->from[i + 1];
    }
    for (int64_t e = first; e < last; ++e) {
      const int64_t j = exceptions->entry[e] - exceptions->first;
      if (j < 0 || j >= columns->count) continue;
      if (exceptions->ways[e] & 1) scratch->forth[j] = T(0);
      if (exceptions->ways[e] & 2) scratch->back[j] = T(0);
    }
    const int64_t begin = same ? i / kLanes * kLanes : 0;
    T value;
    if constexpr (How == Power::planar)
      value = planar_row<T, Means, Value>(rows, columns, i, begin, end, scratch, row_sums, column_sums);
    else
      value =
          general_row<T, How, Means, Value>(rows, columns, i, begin, end, d, scratch, row_sums, column_sums);
    total += static_cast<double>(value);
    for (int64_t e = first; e < last; ++e) {
      const int64_t j = exceptions->entry[e] - exceptions->first;
      if (j >= 0 && j < columns->count) scratch->forth[j] = scratch->back[j] = columns->mass[j];
    }
  }
  return total;
}

// Small blocks side by side in one tile: the pairs of each entry with the one `shift` places on, which have
// the weights `forth` and `back` of the scratch, zero where another block begins. Adds to the
// sums of the first and to those of the second, which are kept apart since the two ranges overlap.
template <class T, Power How, bool Means, bool Value>
WINKEL_CLONES double shifted_pairs(const TilePoints<T>* points, int64_t shift, int64_t d,
                                   TileScratch<T>* scratch, T* __restrict sums, T* __restrict later) {
  const int64_t end = (points->count + kLanes - 1) / kLanes * kLanes;
  const T* __restrict reach = points->reach;
  const T* __restrict slack = points->slack;
  const T* __restrict variance = points->variance;
  const T* __restrict forth = scratch->forth;
  const T* __restrict back = scratch->back;
  T* __restrict squares = scratch->squares;
  T* __restrict action = scratch->action;
  const Dimension<T> dimension(d);
  for (int64_t i = 0; i < end; ++i) squares[i] = T(0);
  for (int64_t c = 0; c < d; ++c) {
    const T* __restrict y = points->y + c * kTile;
    for (int64_t i = 0; i < end; ++i) squares[i] += (y[i] - y[i + shift]) * (y[i] - y[i + shift]);
  }
  T value[kLanes] = {};
  for (int64_t i0 = 0; i0 < end; i0 += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t i = i0 + l, j = i + shift;
      action[i] = act_both<T, How, Means, Value>(squares[i], variance[i] + variance[j], reach[i] + slack[j],
                                                 slack[i] + reach[j], forth[i], back[i], dimension, value[l]);
    }
  }
  for (int64_t c = 0; c < (Means ? d : 1); ++c) {
    const T* __restrict y = points->y + c * kTile;
    T* __restrict here = sums + c * kTile;
    T* __restrict there = later + c * kTile + shift;
    for (int64_t i = 0; i < end; ++i) {
      const T part = Means ? action[i] * (y[i] - y[i + shift]) : action[i];
      here[i] += part;
      there[i] += Means ? -part : part;
    }
  }
  return static_cast<double>(fold_lanes(value));
}

// The kernels for d dimensions.
template <class T>
struct PairKernels {
  decltype(&tile_pairs<T, Power::planar, true, true>) tile;
  decltype(&shifted_pairs<T, Power::planar, true, true>) shifted;

  static PairKernels of(int64_t d, bool means, bool value) {
    const Power how = power_for(d);
    if (how == Power::planar) return of<Power::planar>(means, value);
    if (how == Power::product) return of<Power::product>(means, value);
    return how == Power::root ? of<Power::root>(means, value) : of<Power::general>(means, value);
  }

 private:
  template <Power How>
  static PairKernels of(bool means, bool value) {
    if (!means)
      return {kernel<tile_pairs<T, How, false, false>>(), kernel<shifted_pairs<T, How, false, false>>()};
    if (!value)
      return {kernel<tile_pairs<T, How, true, false>>(), kernel<shifted_pairs<T, How, true, false>>()};
    return {kernel<tile_pairs<T, How, true, true>>(), kernel<shifted_pairs<T, How, true, true>>()};
  }
};

}  // namespace winkel::lvm
