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
#include "vecmath.hpp"

namespace winkel::lvm {

constexpr int64_t kLanes = 16;
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
  T squares[kTile], sums[kTile];              // |mu_i - mu_j|^2 and sigma_i^2 + sigma_j^2
  T forth_excess[kTile], back_excess[kTile];  // (1 + q)^{d/2} - 1
  T action[kTile];
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

// log(1 - P), from P where that is small and from 1 - P where that is.
template <class T>
WINKEL_INLINE T log_far(T p, T rest) {
  const bool small = p < T(0.5);
  const T t = small ? T(1) - p : vecmath::larger(rest, T(1e-37));
  const T lost = (p + (t - T(1))) / t;  // what 1 - P rounded away
  return vecmath::log(t) - (small ? lost : T(0));
}

template <class T>
struct Action {
  T on_means, on_variances, value;  // nu / s, (nu / s) (r^2 / s - d), log(1 - P)
};

// One direction of a pair on the length scale delta, for any d: `excess` is (1 + q)^{d/2} - 1.
template <class T, bool Value>
WINKEL_INLINE Action<T> act_once(T delta, T sigma, T r2, T excess, T d) {
  const T inverse = T(1) / (delta * delta + sigma);
  const T scaled = r2 * inverse;
  const auto c = chance(T(0.5) * scaled);
  const T t = vecmath::larger(excess + c.far, T(1e-37));
  const T strength = c.near / t * inverse;
  T value = T(0);
  if constexpr (Value) {
    const T whole = T(1) / (T(1) + excess);
    value = log_far(c.near * whole, t * whole);
  }
  return {strength, strength * (scaled - d), value};
}

// The same for d = 2, where (1 + q) - 1 = q: everything times delta^2 saves divisions.
template <class T, bool Value>
WINKEL_INLINE Action<T> act_planar(T delta, T sigma, T r2) {
  const T square = delta * delta;
  const T inverse = T(1) / (square + sigma);
  const T scaled = r2 * inverse;
  const auto c = chance(T(0.5) * scaled);
  const T t = vecmath::larger(sigma + c.far * square, T(1e-37));
  const T p = c.near * square * inverse;
  const T strength = p / t;
  T value = T(0);
  if constexpr (Value) value = log_far(p, t * inverse);
  return {strength, strength * (scaled - T(2)), value};
}

// (1 + q)^{d/2} - 1 with q = sigma / delta^2, where delta = reach + slack: products and sums of positive
// numbers, held below overflow. `base` is scratch.
template <class T>
WINKEL_INLINE void half_power_excess(const T* __restrict reach, const T* __restrict slack,
                                     const T* __restrict sigma, T own_reach, T own_slack, int64_t d,
                                     int64_t lo, int64_t hi, T* __restrict base, T* __restrict out) {
  constexpr T most = sizeof(T) == 4 ? T(1e18) : T(1e150);
  for (int64_t j = lo; j < hi; ++j) {
    const T delta = (reach[j] + own_reach) + (slack[j] + own_slack);
    base[j] = vecmath::smaller(sigma[j] / (delta * delta), most);
    out[j] = T(0);
  }
  if (d % 2 == 1)
    for (int64_t j = lo; j < hi; ++j) base[j] = base[j] / (T(1) + std::sqrt(T(1) + base[j]));
  for (int64_t e = d % 2 == 0 ? d / 2 : d; e > 0; e /= 2) {
    if (e % 2 == 1)
      for (int64_t j = lo; j < hi; ++j) out[j] = vecmath::smaller(out[j] + base[j] + out[j] * base[j], most);
    for (int64_t j = lo; j < hi; ++j) base[j] = vecmath::smaller(base[j] * (base[j] + T(2)), most);
  }
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
  T first = T(0), second = T(0), value = T(0);
#pragma omp simd reduction(+ : first, second, value)
  for (int64_t j = lo; j < hi; ++j) {
    const T dx = own_x - x[j], dy = own_y - y[j], sigma = own_variance + variance[j];
    const T r2 = dx * dx + dy * dy;
    const auto out = act_planar<T, Value>(own_reach + slack[j], sigma, r2);
    const auto in = act_planar<T, Value>(own_slack + reach[j], sigma, r2);
    const T there = own_mass * forth[j], here = own_mass * back[j];
    if constexpr (Means) {
      const T strength = there * out.on_means + here * in.on_means;
      first += strength * dx;
      second += strength * dy;
      column_sums[j] -= strength * dx;
      column_sums[kTile + j] -= strength * dy;
    } else {
      const T strength = there * out.on_variances + here * in.on_variances;
      first += strength;
      column_sums[j] += strength;
    }
    if constexpr (Value) value += there * out.value + here * in.value;
  }
  row_sums[i] += first;
  if constexpr (Means) row_sums[kTile + i] += second;
  return value;
}

// The same in any number of dimensions, step by step over the columns.
template <class T, bool Means, bool Value>
WINKEL_INLINE T general_row(const TilePoints<T>* rows, const TilePoints<T>* columns, int64_t i, int64_t lo,
                            int64_t hi, int64_t d, TileScratch<T>* scratch, T* __restrict row_sums,
                            T* __restrict column_sums) {
  const T* __restrict reach = columns->reach;
  const T* __restrict slack = columns->slack;
  const T* __restrict variance = columns->variance;
  const T* __restrict forth = scratch->forth;
  const T* __restrict back = scratch->back;
  T* __restrict squares = scratch->squares;
  T* __restrict sums = scratch->sums;
  T* __restrict action = scratch->action;
  T* __restrict forth_excess = scratch->forth_excess;
  T* __restrict back_excess = scratch->back_excess;
  const T own_variance = rows->variance[i], own_mass = rows->mass[i], dimension = static_cast<T>(d);
  const T own_reach = rows->reach[i], own_slack = rows->slack[i];
  for (int64_t j = lo; j < hi; ++j) {
    squares[j] = T(0);
    sums[j] = own_variance + variance[j];
  }
  for (int64_t c = 0; c < d; ++c) {
    const T own = rows->y[c * kTile + i];
    const T* __restrict other = columns->y + c * kTile;
    for (int64_t j = lo; j < hi; ++j) squares[j] += (own - other[j]) * (own - other[j]);
  }
  const T zeros[kTile] = {};
  half_power_excess(zeros, slack, sums, own_reach, T(0), d, lo, hi, action, forth_excess);
  half_power_excess(reach, zeros, sums, T(0), own_slack, d, lo, hi, action, back_excess);
  T value = T(0);
#pragma omp simd reduction(+ : value)
  for (int64_t j = lo; j < hi; ++j) {
    const auto out =
        act_once<T, Value>(own_reach + slack[j], sums[j], squares[j], forth_excess[j], dimension);
    const auto in = act_once<T, Value>(own_slack + reach[j], sums[j], squares[j], back_excess[j], dimension);
    const T there = own_mass * forth[j], here = own_mass * back[j];
    if constexpr (Means)
      action[j] = there * out.on_means + here * in.on_means;
    else
      action[j] = there * out.on_variances + here * in.on_variances;
    if constexpr (Value) value += there * out.value + here * in.value;
  }
  for (int64_t c = 0; c < (Means ? d : 1); ++c) {
    const T own = rows->y[c * kTile + i];
    const T* __restrict other = columns->y + c * kTile;
    T* __restrict there = column_sums + c * kTile;
    T sum = T(0);
#pragma omp simd reduction(+ : sum)
    for (int64_t j = lo; j < hi; ++j) {
      const T part = Means ? action[j] * (own - other[j]) : -action[j];
      sum += part;
      there[j] -= part;
    }
    row_sums[c * kTile + i] += Means ? sum : -sum;
  }
  return value;
}

// Adds the pairs of `rows` × `columns` (of rows × later rows when they are the same tile) to the sums of
// both: d × kTile of forces when Means, kTile otherwise. Returns the sum of w log(1 - P) when Value.
template <class T, bool Planar, bool Means, bool Value>
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
    if constexpr (Planar)
      value = planar_row<T, Means, Value>(rows, columns, i, begin, end, scratch, row_sums, column_sums);
    else
      value = general_row<T, Means, Value>(rows, columns, i, begin, end, d, scratch, row_sums, column_sums);
    total += static_cast<double>(value);
    for (int64_t e = first; e < last; ++e) {
      const int64_t j = exceptions->entry[e] - exceptions->first;
      if (j >= 0 && j < columns->count) scratch->forth[j] = scratch->back[j] = columns->mass[j];
    }
  }
  return total;
}

// The kernel for d dimensions, which has a shorter form for two.
template <class T>
double act(const TilePoints<T>& rows, const TilePoints<T>& columns, bool same, const Exceptions& exceptions,
           int64_t d, bool means, bool value, TileScratch<T>* scratch, T* row_sums, T* column_sums) {
  using Kernel = double (*)(const TilePoints<T>*, const TilePoints<T>*, bool, const Exceptions*, int64_t,
                            TileScratch<T>*, T*, T*);
  Kernel kernel;
  if (d == 2)
    kernel = !means  ? Kernel(tile_pairs<T, true, false, false>)
             : value ? Kernel(tile_pairs<T, true, true, true>)
                     : Kernel(tile_pairs<T, true, true, false>);
  else
    kernel = !means  ? Kernel(tile_pairs<T, false, false, false>)
             : value ? Kernel(tile_pairs<T, false, true, true>)
                     : Kernel(tile_pairs<T, false, true, false>);
  return kernel(&rows, &columns, same, &exceptions, d, scratch, row_sums, column_sums);
}

}  // namespace winkel::lvm
