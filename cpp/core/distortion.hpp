// The distortion functions of minimum-distortion embedding in their fused form: a policy of a few lines each,
// and one loop over a chunk of pairs. A policy gives, for a distance d, the value f(d) and the lift d f'(d);
// the force of a pair is then lift / d^2 times the difference of its two points.
//
// Close to zero every distortion is continued smoothly: for d < floor it is the parabola in d with the value
// and slope of f at the floor. The force of a pair therefore fades to zero as its points meet, and is finite
// everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "parallel.hpp"
#include "simd.hpp"
#include "vecmath.hpp"

namespace winkel {

constexpr int64_t kChunk = 512;  // pairs in one call of a distortion loop, at most

class RadialTable;

struct DistortionParams {
  double first = 0.0;                  // exponent, threshold or sharpness, as the policy says
  double second = 0.0;                 // a second parameter where there is one
  double floor = 1e-5;                 // the distance below which the parabola takes over
  const RadialTable* table = nullptr;  // for distortions that have no formula here (tabulated.hpp)
};

namespace distortion {

template <class T>
struct Pair {
  T d, square;      // distance (at least the floor) and its square
  T deviation;      // the original distance, for losses
  T first, second;  // parameters
};

template <class T>
struct Result {
  T value, lift;
};

// f(d) = value / over and d f'(d) = lift / over: for formulas whose divisions can be one.
template <class T>
struct Ratio {
  T value, lift, over;
};

// f(d) = log(1 + x) and d f'(d) = lift / sum, where the sum is that of 1 and x.
template <class T>
struct Logarithm {
  T x, sum, lift;
};

// The value f(d) and the factor f'(d) / d.
template <class T>
struct Pull {
  T value, factor;
};

template <class T>
WINKEL_INLINE Pull<T> pull(const Result<T>& f, T square) {
  return {f.value, f.lift / square};
}

template <class T>
WINKEL_INLINE Pull<T> pull(const Ratio<T>& f, T square) {
  const T inverse = T(1) / (f.over * square);
  return {f.value * (inverse * square), f.lift * inverse};
}

// The division of the logarithm is the one of the slope as well.
template <class T>
WINKEL_INLINE Pull<T> pull(const Logarithm<T>& f, T square) {
  const auto parts = vecmath::log1p_parts(f.x, f.sum);
  const T over = f.sum * square, above = T(2) + parts.fraction;
  const T shared = T(1) / (above * over);
  return {vecmath::log_of(parts, parts.fraction * (over * shared)), f.lift * (above * shared)};
}

// d^exponent; the common exponents need no logarithm.
struct AnyPower {
  template <class T>
  static WINKEL_INLINE T of(const Pair<T>& p) {
    return vecmath::exp(p.first * vecmath::log(p.d));
  }
};
struct Power1 {
  template <class T>
  static WINKEL_INLINE T of(const Pair<T>& p) {
    return p.d;
  }
};
struct Power15 {
  template <class T>
  static WINKEL_INLINE T of(const Pair<T>& p) {
    return p.d * std::sqrt(p.d);
  }
};
struct Power2 {
  template <class T>
  static WINKEL_INLINE T of(const Pair<T>& p) {
    return p.square;
  }
};
struct Power3 {
  template <class T>
  static WINKEL_INLINE T of(const Pair<T>& p) {
    return p.d * p.square;
  }
};

// d^a
template <class P>
struct Power {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T u = P::of(p);
    return {u, p.first * u};
  }
};

// d^2 below the threshold, tau (2 d - tau) above
struct HuberPenalty {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T c = vecmath::smaller(p.d, p.first);
    return {c * (T(2) * p.d - c), T(2) * p.d * c};
  }
};

// log(1 + exp(alpha (d - tau)))
struct LogisticPenalty {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T z = p.second * (p.d - p.first);
    const T e = vecmath::exp(-std::abs(z));
    const T slope = (z > T(0) ? T(1) : e) / (T(1) + e);
    return {vecmath::larger(z, T(0)) + vecmath::log1p(e), p.second * p.d * slope};
  }
};

// log(1 + d^a)
template <class P>
struct Log1p {
  template <class T>
  static WINKEL_INLINE Logarithm<T> at(const Pair<T>& p) {
    const T u = vecmath::smaller_size(P::of(p), T(1e18));
    return {u, T(1) + u, p.first * u};
  }
};

// -1 / d^a
template <class P>
struct InvPower {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T u = T(1) / P::of(p);
    return {-u, p.first * u};
  }
};

// -1 / (1 + d^2)^a
struct Cauchy {
  template <class T>
  static WINKEL_INLINE Ratio<T> at(const Pair<T>& p) {
    const T t = T(1) + p.square;
    return {T(-1), T(2) * p.square / t, t};
  }
};
struct CauchyPower {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T t = T(1) + p.square;
    const T u = vecmath::exp(-p.first * vecmath::log(t));
    return {-u, T(2) * p.first * p.square * u / t};
  }
};

// log(1 - exp(-d^a))
template <class P>
struct Log {
  template <class T>
  static WINKEL_INLINE Logarithm<T> at(const Pair<T>& p) {
    const T u = P::of(p);
    constexpr T range = vecmath::Format<T>::exp_range;
    const auto parts = vecmath::exp_parts_within(-vecmath::smaller_size(u, range));
    const T e = vecmath::either(u < range, parts.power + parts.power * parts.fraction, T(0));
    const T rest =
        (T(1) - parts.power) - parts.power * parts.fraction;  // 1 - e, exact to rounding near u = 0
    return {-e, rest, p.first * u * e};
  }
};

// log(d^a / (1 + d^a))
template <class P>
struct LogRatio {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T u = P::of(p);
    return {-vecmath::log1p(T(1) / u), p.first / (T(1) + u)};
  }
};

template <class T>
WINKEL_INLINE T sign(T x) {
  return (x > T(0) ? T(1) : T(0)) - (x < T(0) ? T(1) : T(0));
}

// (d - delta)^2
struct QuadraticLoss {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T r = p.d - p.deviation;
    return {r * r, T(2) * p.d * r};
  }
};

// |d - delta|^3
struct CubicLoss {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T r = p.d - p.deviation, a = std::abs(r);
    return {a * a * a, T(3) * p.d * r * a};
  }
};

// |d - delta|^a, a >= 1
struct PowerLoss {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T r = p.d - p.deviation, a = std::abs(r);
    const T u = vecmath::exp((p.first - T(1)) * vecmath::log(vecmath::larger(a, T(1e-30))));
    return {a * u, p.first * p.d * sign(r) * u};
  }
};

// (d - delta)^2 while |d - delta| <= tau, else tau (2 |d - delta| - tau)
struct HuberLoss {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T r = p.d - p.deviation, a = std::abs(r);
    const T c = vecmath::smaller(a, p.first);
    return {c * (T(2) * a - c), T(2) * p.d * sign(r) * c};
  }
};

// |d - delta|
struct AbsoluteLoss {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T r = p.d - p.deviation;
    return {std::abs(r), p.d * sign(r)};
  }
};

// log((1 + exp |d - delta|) / 2)
struct LogisticLoss {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T r = p.d - p.deviation, a = std::abs(r);
    const T m = vecmath::expm1(-a);
    return {a + vecmath::log1p(T(0.5) * m), p.d * sign(r) / (T(2) + m)};
  }
};

// max(delta / d, d / delta) - 1
struct FractionalLoss {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T r = p.d - p.deviation;
    const T least = vecmath::smaller(p.d, p.deviation);
    return {std::abs(r) / least, sign(r) * vecmath::larger(p.d, p.deviation) / least};
  }
};

// log((exp(gamma delta / d) + exp(gamma d / delta)) / (2 exp(gamma))) / gamma
struct SoftFractionalLoss {
  template <class T>
  static WINKEL_INLINE Result<T> at(const Pair<T>& p) {
    const T r = p.d - p.deviation;
    const T down = p.deviation / p.d, up = p.d / p.deviation;
    const T m = vecmath::expm1(-p.first * std::abs(up - down));  // exp of (smaller - larger), less 1
    const T larger_share = T(1) / (T(2) + m), smaller_share = (T(1) + m) / (T(2) + m);
    const T above = std::abs(r) / vecmath::smaller(p.d, p.deviation);  // the larger of the two ratios, less 1
    const T lift = larger_share * vecmath::larger(up, down) - smaller_share * vecmath::smaller(up, down);
    return {above + vecmath::log1p(T(0.5) * m) / p.first, sign(r) * lift};
  }
};

// Turns squared distances into force factors w f'(d) / d, and gives the sum of w f(d). count is a multiple of
// kLanes.
template <class F, class T>
WINKEL_CLONES double apply(const T* __restrict squares, const T* __restrict weights,
                           const T* __restrict deviations, int64_t count, const DistortionParams* params,
                           T* __restrict factors) {
  const T first = T(params->first), second = T(params->second);
  const T floor2 = T(params->floor) * T(params->floor);
  T values[kChunk];
  const int64_t whole =
      count / kLanes * kLanes;  // count itself; told so, the compiler adds no loop for the rest
  typename vecmath::Format<T>::Word below = 0;
  for (int64_t k = 0; k < whole; ++k) {
    const T square = vecmath::larger(squares[k], floor2);
    const Pull<T> f = pull(F::at(Pair<T>{std::sqrt(square), square, deviations[k], first, second}), square);
    factors[k] = weights[k] * f.factor;
    values[k] = weights[k] * f.value;
    below |= squares[k] < floor2 ? 1 : 0;
  }
  // Few pairs are as close as that.
  for (int64_t k = 0; below != 0 && k < whole; ++k)
    values[k] += T(0.5) * factors[k] * (vecmath::smaller(squares[k], floor2) - floor2);
  // Enough lanes to hide the latency of additions; the last ones are filled up with zeros.
  constexpr int64_t lanes = 4 * kLanes;
  double sums[lanes] = {};
  for (int64_t k = count; k % lanes != 0; ++k) values[k] = T(0);
  for (int64_t k = 0; k < count; k += lanes) {
    for (int64_t l = 0; l < lanes; ++l) sums[l] += static_cast<double>(values[k + l]);
  }
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
  }
  return sums[0];
}

}  // namespace distortion

template <class T>
using DistortionLoop = double (*)(const T*, const T*, const T*, int64_t, const DistortionParams*, T*);

template <template <class> class F, class T>
DistortionLoop<T> loop_with_exponent(double exponent) {
  if (exponent == 1.0) return kernel<distortion::apply<F<distortion::Power1>, T>>();
  if (exponent == 1.5) return kernel<distortion::apply<F<distortion::Power15>, T>>();
  if (exponent == 2.0) return kernel<distortion::apply<F<distortion::Power2>, T>>();
  if (exponent == 3.0) return kernel<distortion::apply<F<distortion::Power3>, T>>();
  return kernel<distortion::apply<F<distortion::AnyPower>, T>>();
}

// The loop for a distortion by its name, or nullptr.
template <class T>
DistortionLoop<T> distortion_loop(std::string_view name, const DistortionParams& params) {
  namespace ds = distortion;
  if (name == "power") return loop_with_exponent<ds::Power, T>(params.first);
  if (name == "log1p") return loop_with_exponent<ds::Log1p, T>(params.first);
  if (name == "inv_power") return loop_with_exponent<ds::InvPower, T>(params.first);
  if (name == "cauchy")
    return params.first == 1.0 ? kernel<ds::apply<ds::Cauchy, T>>() : kernel<ds::apply<ds::CauchyPower, T>>();
  if (name == "log") return loop_with_exponent<ds::Log, T>(params.first);
  if (name == "log_ratio") return loop_with_exponent<ds::LogRatio, T>(params.first);
  if (name == "huber_penalty") return kernel<ds::apply<ds::HuberPenalty, T>>();
  if (name == "logistic_penalty") return kernel<ds::apply<ds::LogisticPenalty, T>>();
  if (name == "quadratic_loss") return kernel<ds::apply<ds::QuadraticLoss, T>>();
  if (name == "cubic_loss") return kernel<ds::apply<ds::CubicLoss, T>>();
  if (name == "power_loss") return kernel<ds::apply<ds::PowerLoss, T>>();
  if (name == "huber_loss") return kernel<ds::apply<ds::HuberLoss, T>>();
  if (name == "absolute_loss") return kernel<ds::apply<ds::AbsoluteLoss, T>>();
  if (name == "logistic_loss") return kernel<ds::apply<ds::LogisticLoss, T>>();
  if (name == "fractional_loss") return kernel<ds::apply<ds::FractionalLoss, T>>();
  if (name == "soft_fractional_loss") return kernel<ds::apply<ds::SoftFractionalLoss, T>>();
  return nullptr;
}

}  // namespace winkel
