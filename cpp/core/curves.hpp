// Curves of the attraction/repulsion framework: what a pair of points at squared distance s adds to a loss,
// f(s), and the slope f'(s) that its force has. A family is a kernel k_y on the map; a form says which
// function of the kernel the loss holds.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "distortion.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "vecmath.hpp"

namespace winkel::forces {

struct CurveParams {
  double first = 1.0;   // a of UMAP's kernel, gamma of the Gaussian one, v of Student's
  double second = 1.0;  // b of UMAP's kernel
  double floor = 0.0;   // forms that are singular at s = 0 go on straight (in s) below this s
};

template <class T>
struct Curve {
  T value, slope;
};

// 1 / (1 + s)
struct Cauchy {
  template <class T>
  static WINKEL_INLINE Curve<T> kernel(T s, T, T) {
    const T k = T(1) / (T(1) + s);
    return {k, -k * k};
  }
  template <class T>
  static WINKEL_INLINE Curve<T> neg_log(T s, T, T) {
    return {vecmath::log1p(s), T(1) / (T(1) + s)};
  }
  template <class T>
  static WINKEL_INLINE Curve<T> apart(T s, T, T) {
    return {vecmath::log1p(T(1) / s), T(-1) / (s * (T(1) + s))};
  }
};

// 1 / (1 + a s^b)
struct Umap {
  template <class T>
  static WINKEL_INLINE T power(T s, T a, T b) {
    return a * vecmath::exp(b * vecmath::log(s));
  }
  template <class T>
  static WINKEL_INLINE Curve<T> kernel(T s, T a, T b) {
    s = vecmath::larger(s, T(1e-24));
    const T u = power(s, a, b), k = T(1) / (T(1) + u);
    return {k, -b * u * k * k / s};
  }
  template <class T>
  static WINKEL_INLINE Curve<T> neg_log(T s, T a, T b) {
    s = vecmath::larger(s, T(1e-24));
    const T u = power(s, a, b);
    return {vecmath::log1p(u), b * u / (s * (T(1) + u))};
  }
  template <class T>
  static WINKEL_INLINE Curve<T> apart(T s, T a, T b) {
    const T u = power(s, a, b);
    return {vecmath::log1p(T(1) / u), -b / (s * (T(1) + u))};
  }
};

// exp(-gamma s)
struct Gaussian {
  template <class T>
  static WINKEL_INLINE Curve<T> kernel(T s, T gamma, T) {
    const T k = vecmath::exp(-gamma * s);
    return {k, -gamma * k};
  }
  template <class T>
  static WINKEL_INLINE Curve<T> neg_log(T s, T gamma, T) {
    return {gamma * s, gamma};
  }
  template <class T>
  static WINKEL_INLINE Curve<T> apart(T s, T gamma, T) {
    const T rest = -vecmath::expm1(-gamma * s);  // 1 - k
    return {-vecmath::log(rest), -gamma * (T(1) - rest) / rest};
  }
};

// (1 + s / v)^-v, of v degrees of freedom
struct Student {
  template <class T>
  static WINKEL_INLINE Curve<T> kernel(T s, T v, T) {
    const T k = vecmath::exp(-v * vecmath::log1p(s / v));
    return {k, -k / (T(1) + s / v)};
  }
  template <class T>
  static WINKEL_INLINE Curve<T> neg_log(T s, T v, T) {
    return {v * vecmath::log1p(s / v), T(1) / (T(1) + s / v)};
  }
  template <class T>
  static WINKEL_INLINE Curve<T> apart(T s, T v, T) {
    const T rest = -vecmath::expm1(-v * vecmath::log1p(s / v));  // 1 - k
    return {-vecmath::log(rest), (rest - T(1)) / (rest * (T(1) + s / v))};
  }
};

// k
template <class F>
struct Plain {
  template <class T>
  static WINKEL_INLINE Curve<T> at(T s, T first, T second, T) {
    return F::kernel(s, first, second);
  }
};
// k^2
template <class F>
struct Square {
  template <class T>
  static WINKEL_INLINE Curve<T> at(T s, T first, T second, T) {
    const Curve<T> k = F::kernel(s, first, second);
    return {k.value * k.value, T(2) * k.value * k.slope};
  }
};
// -log k
template <class F>
struct NegLog {
  template <class T>
  static WINKEL_INLINE Curve<T> at(T s, T first, T second, T) {
    return F::neg_log(s, first, second);
  }
};
// -log(1 - k)
template <class F>
struct Apart {
  template <class T>
  static WINKEL_INLINE Curve<T> at(T s, T first, T second, T floor) {
    const Curve<T> f = F::apart(vecmath::larger(s, floor), first, second);
    return {f.value + f.slope * (vecmath::smaller(s, floor) - floor), f.slope};
  }
};
// -log k + log(1 - k): what the weight of a pair multiplies in the cross-entropy
template <class F>
struct Logit {
  template <class T>
  static WINKEL_INLINE Curve<T> at(T s, T first, T second, T floor) {
    const Curve<T> pulled = F::neg_log(s, first, second), pushed = Apart<F>::at(s, first, second, floor);
    return {pulled.value - pushed.value, pulled.slope - pushed.slope};
  }
};

// Slopes, and values unless that is null, at `count` squared distances, a multiple of kLanes.
template <class F, class T>
WINKEL_CLONES void trace(const T* __restrict squares, int64_t count, const CurveParams* params,
                         T* __restrict slopes, T* __restrict values) {
  const T first = T(params->first), second = T(params->second), floor = T(params->floor);
  const int64_t whole =
      count / kLanes * kLanes;  // count itself; told so, the compiler adds no loop for the rest
  if (values == nullptr) {
    for (int64_t e = 0; e < whole; ++e) slopes[e] = F::at(squares[e], first, second, floor).slope;
    return;
  }
  for (int64_t e = 0; e < whole; ++e) {
    const Curve<T> f = F::at(squares[e], first, second, floor);
    slopes[e] = f.slope;
    values[e] = f.value;
  }
}

template <class T>
using Trace = void (*)(const T*, int64_t, const CurveParams*, T*, T*);

template <class F, class T>
Trace<T> trace_of_form(std::string_view form) {
  if (form == "kernel") return kernel<trace<Plain<F>, T>>();
  if (form == "square") return kernel<trace<Square<F>, T>>();
  if (form == "neg_log") return kernel<trace<NegLog<F>, T>>();
  if (form == "apart") return kernel<trace<Apart<F>, T>>();
  if (form == "logit") return kernel<trace<Logit<F>, T>>();
  return nullptr;
}

// The loop for a kernel and a form by their names, or nullptr.
template <class T>
Trace<T> trace_of(std::string_view kernel, std::string_view form) {
  if (kernel == "cauchy") return trace_of_form<Cauchy, T>(form);
  if (kernel == "umap") return trace_of_form<Umap, T>(form);
  if (kernel == "gaussian") return trace_of_form<Gaussian, T>(form);
  if (kernel == "student") return trace_of_form<Student, T>(form);
  return nullptr;
}

// The same in the form in which rows are placed (place.hpp): force factors w f'(d) / d = 2 w f'(s), and the
// sum of w f. count is a multiple of kLanes, and at most kChunk.
template <class F>
WINKEL_CLONES double place_by(const double* __restrict squares, const double* __restrict weights,
                              const double*, int64_t count, const DistortionParams* params,
                              double* __restrict factors) {
  double values[kChunk];
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t e = 0; e < whole; ++e) {
    const Curve<double> f = F::at(squares[e], params->first, params->second, params->floor);
    factors[e] = 2.0 * weights[e] * f.slope;
    values[e] = weights[e] * f.value;
  }
  double sum = 0.0;
  for (int64_t e = 0; e < count; ++e) sum += values[e];
  return sum;
}

template <class F>
DistortionLoop<double> placing_form(std::string_view form) {
  if (form == "kernel") return kernel<place_by<Plain<F>>>();
  if (form == "square") return kernel<place_by<Square<F>>>();
  if (form == "neg_log") return kernel<place_by<NegLog<F>>>();
  if (form == "apart") return kernel<place_by<Apart<F>>>();
  if (form == "logit") return kernel<place_by<Logit<F>>>();
  return nullptr;
}

// The loop for a curve named "kernel:form", or nullptr.
inline DistortionLoop<double> placing_loop(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return nullptr;
  const std::string_view kernel = name.substr(0, colon), form = name.substr(colon + 1);
  if (kernel == "cauchy") return placing_form<Cauchy>(form);
  if (kernel == "umap") return placing_form<Umap>(form);
  if (kernel == "gaussian") return placing_form<Gaussian>(form);
  if (kernel == "student") return placing_form<Student>(form);
  return nullptr;
}

}  // namespace winkel::forces
