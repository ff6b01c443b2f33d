// Exponentials and logarithms without branches or tables, so that a loop over them becomes vector code in
// functions marked WINKEL_CLONES. Relative error is about 1e-7 for float and 1e-15 for double, except where a
// result passes through zero away from the points that log1p and expm1 exist for.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd.hpp"

namespace winkel::vecmath {

constexpr double inverse_factorial(int k) {
  return k < 2 ? 1.0 : inverse_factorial(k - 1) / k;
}

// 1 / 2!, 1 / 3!, ...: (exp(r) - 1 - r) / r^2.
template <size_t Terms>
constexpr std::array<double, Terms> exp_series() {
  std::array<double, Terms> terms{};
  for (size_t k = 0; k < Terms; ++k) terms[k] = inverse_factorial(static_cast<int>(k) + 2);
  return terms;
}

// 2 / 3, 2 / 5, ...: (2 atanh(s) / s - 2) / s^2, in s^2.
template <size_t Terms>
constexpr std::array<double, Terms> log_series() {
  std::array<double, Terms> terms{};
  for (size_t k = 0; k < Terms; ++k) terms[k] = 2.0 / static_cast<double>(2 * k + 3);
  return terms;
}

// The coefficients `exp_tail` are for |r| <= ln(2) / 2, `log_tail` for s^2 <= 0.0295.
template <class T>
struct Format;

template <>
struct Format<float> {
  using Word = uint32_t;
  static constexpr int mantissa = 23;
  static constexpr Word one = 0x3f800000u;        // bits of 1
  static constexpr Word sqrt_half = 0x3f3504f3u;  // bits of sqrt(1/2)
  static constexpr Word counter = 0x4b000000u;  // bits of 2^23: the integer k < 2^23 has the bits counter | k
  static constexpr float counter_value = 8388608.0f + 127.0f;
  static constexpr float round_shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float exp_range = 87.0f;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  // Of least maximal error: 8e-9 of the exponential, 3e-9 of the logarithm.
  static constexpr std::array<float, 5> exp_tail = {0.5f, 0.166665763f, 0.0416663736f, 0.00836320501f,
                                                    0.00139411655f};
  static constexpr std::array<float, 3> log_tail = {0.666666865f, 0.399886966f, 0.295830876f};
};

template <>
struct Format<double> {
  using Word = uint64_t;
  static constexpr int mantissa = 52;
  static constexpr Word one = 0x3ff0000000000000u;
  static constexpr Word sqrt_half = 0x3fe6a09e667f3bcdu;
  static constexpr Word counter = 0x4330000000000000u;
  static constexpr double counter_value = 4503599627370496.0 + 1023.0;
  static constexpr double round_shift = 6755399441055744.0;
  static constexpr double exp_range = 708.0;
  static constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  static constexpr std::array<double, 13> exp_tail = exp_series<13>();
  static constexpr std::array<double, 11> log_tail = log_series<11>();
};

template <class T>
WINKEL_INLINE typename Format<T>::Word to_bits(T x) {
  typename Format<T>::Word w;
  std::memcpy(&w, &x, sizeof(T));
  return w;
}

template <class T>
WINKEL_INLINE T from_bits(typename Format<T>::Word w) {
  T x;
  std::memcpy(&x, &w, sizeof(T));
  return x;
}

template <class T>
WINKEL_INLINE T larger(T x, T y) {
  return x > y ? x : y;
}

template <class T>
WINKEL_INLINE T smaller(T x, T y) {
  return x < y ? x : y;
}

// x or y, chosen by bits: of each condition GCC makes a copy of what follows it.
template <class T>
WINKEL_INLINE T either(bool first, T x, T y) {
  using Word = typename Format<T>::Word;
  const Word mask = Word(0) - Word(first);
  return from_bits<T>((to_bits(x) & mask) | (to_bits(y) & ~mask));
}

// The smaller of x and y, which are not negative, without a condition either.
template <class T>
WINKEL_INLINE T smaller_size(T x, T y) {
  return from_bits<T>(smaller(to_bits(x), to_bits(y)));
}

// c[0] + c[1] x + ...
template <class T, size_t Terms>
WINKEL_INLINE T polynomial(const std::array<T, Terms>& c, T x) {
  T sum = c[Terms - 1];
#if defined(__GNUC__)
#pragma GCC unroll 16
#endif
  for (size_t k = Terms - 1; k > 0; --k) sum = c[k - 1] + x * sum;
  return sum;
}

// exp(x) = power + power * fraction, with power = 2^n and fraction = exp(x - n ln 2) - 1.
template <class T>
struct ExpParts {
  T power, fraction;
};

// x must lie within the range.
template <class T>
WINKEL_INLINE ExpParts<T> exp_parts_within(T x) {
  using F = Format<T>;
  const T shifted = x * T(1.44269504088896340736) + F::round_shift;
  const T n = shifted - F::round_shift;
  const T r = (x - n * F::ln2_high) - n * F::ln2_low;
  const T power = from_bits<T>((to_bits(shifted) << F::mantissa) + F::one);
  return {power, r + r * r * polynomial(F::exp_tail, r)};
}

template <class T>
WINKEL_INLINE ExpParts<T> exp_parts(T x) {
  return exp_parts_within(larger(smaller(x, Format<T>::exp_range), -Format<T>::exp_range));
}

// exp(x), with x limited to +-87 (float) or +-708 (double).
template <class T>
WINKEL_INLINE T exp(T x) {
  const auto e = exp_parts(x);
  return e.power + e.power * e.fraction;
}

// exp(x), which is zero where that is less than the smallest normal number.
template <class T>
WINKEL_INLINE T decay(T x) {
  return x < -Format<T>::exp_range ? T(0) : exp(x);
}

// exp(x) - 1, exact to rounding near zero.
template <class T>
WINKEL_INLINE T expm1(T x) {
  const auto e = exp_parts(x);
  return e.power * e.fraction + (e.power - T(1));
}

// x = 2^exponent (1 + fraction), for positive normal x.
template <class T>
struct LogParts {
  T exponent, fraction;
};

template <class T>
WINKEL_INLINE LogParts<T> log_parts(T x) {
  using F = Format<T>;
  const auto moved = to_bits(x) + (F::one - F::sqrt_half);
  return {from_bits<T>((moved >> F::mantissa) | F::counter) - F::counter_value,
          from_bits<T>((moved & ((typename F::Word(1) << F::mantissa) - 1)) + F::sqrt_half) - T(1)};
}

// The logarithm from its parts: log(1 + f) = 2 atanh(s) with s = f / (2 + f).
template <class T>
WINKEL_INLINE T log_of(const LogParts<T>& parts, T s) {
  using F = Format<T>;
  const T e = parts.exponent, f = parts.fraction;
  const T z = s * s;
  const T half_square = T(0.5) * f * f;
  // f - f^2 / 2 + s (f^2 / 2 + z tail) equals 2 s + s z tail, with the rounding error of s kept out of the
  // leading term.
  const T fraction = f - (half_square - s * (half_square + z * polynomial(F::log_tail, z)));
  return e * F::ln2_high + (e * F::ln2_low + fraction);
}

// log(x) for positive normal x.
template <class T>
WINKEL_INLINE T log(T x) {
  const auto parts = log_parts(x);
  return log_of(parts, parts.fraction / (T(2) + parts.fraction));
}

// The parts of 1 + x from that sum as it was rounded: where the exponent is 0, x itself is the fraction, and
// nothing is lost.
template <class T>
WINKEL_INLINE LogParts<T> log1p_parts(T x, T sum) {
  using F = Format<T>;
  const auto parts = log_parts(sum);
  const auto exponent = (to_bits(sum) + (F::one - F::sqrt_half)) >> F::mantissa;
  return {parts.exponent, either(exponent == (F::one >> F::mantissa), x, parts.fraction)};
}

// log(1 + x) for x > -1.
template <class T>
WINKEL_INLINE T log1p(T x) {
  const auto parts = log1p_parts(x, T(1) + x);
  return log_of(parts, parts.fraction / (T(2) + parts.fraction));
}

// The sum of (-1)^k x^(2k + From) / (2k + From)! up to the power Last: sine from 1, cosine from 0.
template <int From, int Last>
WINKEL_INLINE double alternating(double square) {
  if constexpr (From > Last) {
    (void)square;
    return 0.0;
  } else {
    return inverse_factorial(From) - square * alternating<From + 2, Last>(square);
  }
}

// cos(2 pi x) for |x| < 2^50. Quarter turns are taken off without rounding.
WINKEL_INLINE double cos_turns(double x) {
  const double shifted = 4.0 * x + Format<double>::round_shift;
  const uint64_t quarter = to_bits(shifted) & 3;
  const double angle = (x - 0.25 * (shifted - Format<double>::round_shift)) * 6.283185307179586476925;
  const double square = angle * angle;
  const double sine = angle * alternating<1, 17>(square), cosine = alternating<0, 18>(square);
  const double size = quarter % 2 == 1 ? sine : cosine;
  return quarter == 1 || quarter == 2 ? -size : size;
}

// The angle whose tangent is x >= 0, of at most 1: halved twice, then by its series.
WINKEL_INLINE double atan_up_to_one(double x) {
  x = x / (1.0 + std::sqrt(1.0 + x * x));
  x = x / (1.0 + std::sqrt(1.0 + x * x));
  const double z = x * x;
  double tail = 1.0 / 25.0;
#if defined(__GNUC__)
#pragma GCC unroll 16
#endif
  for (int k = 11; k > 0; --k) tail = 1.0 / (2 * k + 1) - z * tail;
  return 4.0 * (x - x * z * tail);
}

// acos(x) for |x| <= 1, exact to rounding near both ends.
WINKEL_INLINE double acos(double x) {
  const double rise = std::sqrt(1.0 - x), run = std::sqrt(1.0 + x);
  const double low = smaller(rise, run), high = larger(rise, run);
  const double angle = 2.0 * atan_up_to_one(low / high);
  return rise > run ? 3.14159265358979323846 - angle : angle;
}

}  // namespace winkel::vecmath
