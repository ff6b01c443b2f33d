// Sums of a radial kernel over all other points: potentials sum_j q_j k(d_ij) and forces
// sum_j q_j (k'(d_ij) / d_ij) (y_i - y_j). A kernel is a policy that turns a squared distance into the value
// k(d) and the pull k'(d) / d; the repulsive penalties of minimum-distortion embedding are used as they are,
// with their smooth continuation below the floor. One loop lets many sources act on sixteen targets; the
// exact sum and the tree of field.hpp are both made of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "distortion.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "vecmath.hpp"

namespace winkel {

namespace radial {

template <class T>
struct Effect {
  T value, pull;
};

// A distortion policy, continued below the floor by the parabola with its value and slope.
template <class F>
struct Of {
  template <class T>
  static WINKEL_INLINE Effect<T> at(T square, T first, T floor2) {
    const T s = vecmath::larger(square, floor2);
    const auto f = distortion::pull(F::at(distortion::Pair<T>{std::sqrt(s), s, T(0), first, T(0)}), s);
    return {f.value + T(0.5) * f.factor * (vecmath::smaller(square, floor2) - floor2), f.factor};
  }
};

// (1 + d^2)^-a; smooth at zero, so it needs no floor.
struct Cauchy1 {
  template <class T>
  static WINKEL_INLINE Effect<T> at(T square, T, T) {
    const T u = T(1) / (T(1) + square);
    return {u, T(-2) * u * u};
  }
};
struct Cauchy2 {
  template <class T>
  static WINKEL_INLINE Effect<T> at(T square, T, T) {
    const T u = T(1) / (T(1) + square);
    return {u * u, T(-4) * u * u * u};
  }
};
struct CauchyAny {
  template <class T>
  static WINKEL_INLINE Effect<T> at(T square, T first, T) {
    const T t = T(1) + square;
    const T value = vecmath::exp(-first * vecmath::log(t));
    return {value, T(-2) * first * value / t};
  }
};

// What sixteen targets feel of some sources. Targets lie coordinate by coordinate, kLanes apart; sources
// `stride` apart. Source s is left out for target lane l when s == self + l.
template <class T>
struct Sources {
  const T* coordinates;
  int64_t stride;
  const T* charges;
  int64_t count;
};

constexpr int64_t kNoSelf = INT64_MIN / 2;
constexpr int64_t kRun = 64;  // sources summed in the type of the data before they are added in double

// The sides are written out, not looped over, since only then the loop over lanes becomes vector code.
template <class F, class T, int M>
WINKEL_CLONES void act(const T* __restrict targets, const Sources<T>* sources, int64_t, int64_t self,
                       const DistortionParams* params, double* __restrict out) {
  static_assert(M == 2 || M == 3);
  const T first = T(params->first), floor2 = T(params->floor) * T(params->floor);
  const T* __restrict x0 = sources->coordinates, * __restrict x1 = x0 + sources->stride;
  const T* __restrict x2 = M == 3 ? x1 + sources->stride : x1;
  const T* __restrict q = sources->charges;
  for (int64_t begin = 0; begin < sources->count; begin += kRun) {
    const int64_t end = begin + kRun < sources->count ? begin + kRun : sources->count;
    T force0[kLanes] = {}, force1[kLanes] = {}, force2[kLanes] = {}, potential[kLanes] = {};
    for (int64_t s = begin; s < end; ++s) {
      const int32_t own = s - self >= 0 && s - self < kLanes ? static_cast<int32_t>(s - self) : -1;
      const T a0 = x0[s], a1 = x1[s], a2 = x2[s], charge = q[s];
      for (int32_t l = 0; l < kLanes; ++l) {
        const T d0 = targets[l] - a0, d1 = targets[kLanes + l] - a1;
        const T d2 = M == 3 ? targets[(M - 1) * kLanes + l] - a2 : T(0);
        const Effect<T> e = F::at(M == 3 ? d0 * d0 + d1 * d1 + d2 * d2 : d0 * d0 + d1 * d1, first, floor2);
        const T weight = l == own ? T(0) : charge;
        const T pull = weight * e.pull;
        potential[l] += weight * e.value;
        force0[l] += pull * d0;
        force1[l] += pull * d1;
        if (M == 3) force2[l] += pull * d2;
      }
    }
    for (int64_t l = 0; l < kLanes; ++l) {
      out[l] += static_cast<double>(force0[l]);
      out[kLanes + l] += static_cast<double>(force1[l]);
      if (M == 3) out[(M - 1) * kLanes + l] += static_cast<double>(force2[l]);
      out[M * kLanes + l] += static_cast<double>(potential[l]);
    }
  }
}

// The same for any number of components m: squared distances of a run of sources, what they do, and the sums,
// of which only the middle is made for each kernel.
template <class T>
WINKEL_CLONES void measure_lanes(const T* __restrict targets, const Sources<T>* sources, int64_t m,
                                 int64_t begin, int64_t count, T* __restrict squares) {
  const T* __restrict x = sources->coordinates + begin;
  for (int64_t e = 0; e < count * kLanes; ++e) squares[e] = T(0);
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t s = 0; s < count; ++s) {
      const T at = x[k * sources->stride + s];
      for (int64_t l = 0; l < kLanes; ++l) {
        const T diff = targets[k * kLanes + l] - at;
        squares[s * kLanes + l] += diff * diff;
      }
    }
  }
}

template <class F, class T>
WINKEL_CLONES void effects(int64_t count, const DistortionParams* params, T* __restrict squares_then_pulls,
                           T* __restrict values) {
  const T first = T(params->first), floor2 = T(params->floor) * T(params->floor);
  for (int64_t e = 0; e < count * kLanes; ++e) {
    const Effect<T> effect = F::at(squares_then_pulls[e], first, floor2);
    squares_then_pulls[e] = effect.pull;
    values[e] = effect.value;
  }
}

template <class T>
WINKEL_CLONES void add_lanes(const T* __restrict targets, const Sources<T>* sources, int64_t m, int64_t begin,
                             int64_t count, const T* __restrict pulls, const T* __restrict values,
                             double* __restrict out) {
  const T* __restrict x = sources->coordinates + begin;
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t s = 0; s < count; ++s) {
      const T at = x[k * sources->stride + s];
      for (int64_t l = 0; l < kLanes; ++l)
        out[k * kLanes + l] += static_cast<double>(pulls[s * kLanes + l] * (targets[k * kLanes + l] - at));
    }
  }
  for (int64_t s = 0; s < count; ++s) {
    for (int64_t l = 0; l < kLanes; ++l) out[m * kLanes + l] += static_cast<double>(values[s * kLanes + l]);
  }
}

template <class T>
void act_in_runs(decltype(&effects<Cauchy1, T>) effects_of, const T* targets, const Sources<T>* sources,
                 int64_t m, int64_t self, const DistortionParams* params, double* out) {
  constexpr int64_t run = 16;
  T pulls[run * kLanes], values[run * kLanes];
  for (int64_t begin = 0; begin < sources->count; begin += run) {
    const int64_t count = sources->count - begin < run ? sources->count - begin : run;
    kernel<measure_lanes<T>>()(targets, sources, m, begin, count, pulls);
    effects_of(count, params, pulls, values);
    for (int64_t s = 0; s < count; ++s) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const T charge = begin + s - self == l ? T(0) : sources->charges[begin + s];
        pulls[s * kLanes + l] *= charge;
        values[s * kLanes + l] *= charge;
      }
    }
    kernel<add_lanes<T>>()(targets, sources, m, begin, count, pulls, values, out);
  }
}

template <class F, class T>
void act_any(const T* targets, const Sources<T>* sources, int64_t m, int64_t self,
             const DistortionParams* params, double* out) {
  act_in_runs<T>(kernel<effects<F, T>>(), targets, sources, m, self, params, out);
}

// The loop of a kernel: out[k * kLanes + l] += force k of target l for k < m, and its potential for k = m.
template <class T>
using Loop = void (*)(const T*, const Sources<T>*, int64_t, int64_t, const DistortionParams*, double*);

template <class F, class T>
Loop<T> loop_of(int64_t m) {
  if (m == 2) return kernel<act<F, T, 2>>();
  if (m == 3) return kernel<act<F, T, 3>>();
  return act_any<F, T>;
}

template <template <class> class F, class T>
Loop<T> loop_with_exponent(int64_t m, double exponent) {
  if (exponent == 1.0) return loop_of<Of<F<distortion::Power1>>, T>(m);
  if (exponent == 2.0) return loop_of<Of<F<distortion::Power2>>, T>(m);
  return loop_of<Of<F<distortion::AnyPower>>, T>(m);
}

// The loop for a kernel by its name, or nullptr.
template <class T>
Loop<T> loop(std::string_view name, int64_t m, double exponent) {
  if (name == "cauchy") {
    if (exponent == 1.0) return loop_of<Cauchy1, T>(m);
    if (exponent == 2.0) return loop_of<Cauchy2, T>(m);
    return loop_of<CauchyAny, T>(m);
  }
  if (name == "log") return loop_with_exponent<distortion::Log, T>(m, exponent);
  if (name == "inv_power") return loop_with_exponent<distortion::InvPower, T>(m, exponent);
  if (name == "log_ratio") return loop_with_exponent<distortion::LogRatio, T>(m, exponent);
  if (name == "log1p") return loop_with_exponent<distortion::Log1p, T>(m, exponent);
  return nullptr;
}

// Copies kLanes targets from `first` on, moved by -shift. Whoever stores coordinates leaves kLanes spare
// places behind them, so that the lanes past the last target hold numbers, whose results nobody reads.
template <class T>
WINKEL_INLINE void load_lanes(const T* coordinates, int64_t stride, int64_t m, int64_t first, const T* shift,
                              T* __restrict lanes) {
  for (int64_t k = 0; k < m; ++k) {
    const T* from = coordinates + k * stride + first;
    const T by = shift[k];
    for (int64_t l = 0; l < kLanes; ++l) lanes[k * kLanes + l] = from[l] - by;
  }
}

// Lets all n points act on up to kLanes of them, named by `rows` in ascending order: the stretches between
// the rows act on all lanes, and each row on all lanes but its own.
template <class T>
void act_on_rows(Loop<T> loop, const DistortionParams& params, const Sources<T>& all, int64_t m,
                 const int64_t* rows, int64_t count, T* lanes, double* out) {
  for (int64_t l = 0; l < kLanes; ++l) {
    for (int64_t k = 0; k < m; ++k)
      lanes[k * kLanes + l] = all.coordinates[k * all.stride + rows[l < count ? l : 0]];
  }
  int64_t next = 0;
  for (int64_t r = 0; r <= count; ++r) {
    const int64_t end = r < count ? rows[r] : all.count;
    const Sources<T> stretch{all.coordinates + next, all.stride, all.charges + next, end - next};
    loop(lanes, &stretch, m, kNoSelf, &params, out);
    if (r == count) break;
    const Sources<T> row{all.coordinates + end, all.stride, all.charges + end, 1};
    loop(lanes, &row, m, -r, &params, out);
    next = end + 1;
  }
}

// Exact potentials (rows) and forces (rows x m) of all n points of Y (n x m), at the points named in `rows`,
// strictly ascending, or at all points when it is null.
template <class T>
void exact_sums(Loop<T> loop, const DistortionParams& params, const T* Y, const T* charges, int64_t n,
                int64_t m, const int64_t* rows, int64_t n_rows, int threads, T* potentials, T* forces) {
  std::vector<T> x(static_cast<size_t>(n * m + kLanes));
  parallel_blocks(n, 4096, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      for (int64_t k = 0; k < m; ++k) x[static_cast<size_t>(k * n + i)] = Y[i * m + k];
    }
  });
  const Sources<T> all{x.data(), n, charges, n};
  const std::vector<T> still(static_cast<size_t>(m), T(0));
  parallel_blocks(n_rows, kLanes, threads, [&](int64_t lo, int64_t hi) {
    std::vector<T> lanes(static_cast<size_t>(m * kLanes));
    std::vector<double> out(static_cast<size_t>((m + 1) * kLanes), 0.0);
    if (rows == nullptr) {
      load_lanes(x.data(), n, m, lo, still.data(), lanes.data());
      loop(lanes.data(), &all, m, lo, &params, out.data());
    } else {
      act_on_rows(loop, params, all, m, rows + lo, hi - lo, lanes.data(), out.data());
    }
    for (int64_t i = lo; i < hi; ++i) {
      for (int64_t k = 0; k < m; ++k)
        forces[i * m + k] = static_cast<T>(out[static_cast<size_t>(k * kLanes + i - lo)]);
      potentials[i] = static_cast<T>(out[static_cast<size_t>(m * kLanes + i - lo)]);
    }
  });
}

}  // namespace radial

}  // namespace winkel
