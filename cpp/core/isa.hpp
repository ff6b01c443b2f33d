// Kernels compiled for several instruction sets, and the one that runs. The level is chosen when the library
// is first used: the best that the processor has, or the one that WINKEL_ISA names. All levels give the same
// bytes: no sum is reordered, nothing is contracted (the build says -ffp-contract=off), and every lane count
// is fixed in the source.
#pragma once

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

// Functions marked so are bodies to be run as kernel<name>()(arguments). Keep them leaf functions without
// parallel loops; what they call is inlined into them or runs in its baseline form.
#if defined(__GNUC__)
#define WINKEL_CLONES inline __attribute__((always_inline))
#else
#define WINKEL_CLONES inline
#endif

// Features are listed one by one: not every compiler knows the levels by name.
#if defined(__GNUC__) && defined(__x86_64__) && !defined(_WIN32) && !defined(WINKEL_NO_CLONES)
#define WINKEL_X86_LEVELS 1
#define WINKEL_V3 __attribute__((target("avx2,fma,bmi,bmi2,popcnt")))
#define WINKEL_V4 \
  __attribute__((target("avx2,fma,bmi,bmi2,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")))
#endif

namespace winkel {

namespace isa {

enum Level { baseline, v3, v4 };  // x86-64, x86-64-v3 and x86-64-v4; other architectures have the first

constexpr const char* kNames[] = {"baseline", "v3", "v4"};

// The highest level of this processor (and system: it has to keep the registers).
inline Level highest() {
#if defined(WINKEL_X86_LEVELS)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
    return baseline;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return v3;
  return v4;
#else
  return baseline;
#endif
}

// The level of that name; throws when there is none, or when this processor lacks it.
inline Level named(const std::string& name) {
  for (const Level level : {baseline, v3, v4}) {
    if (name != kNames[level]) continue;
    if (level > highest())
      throw std::invalid_argument("the instruction set '" + name +
                                  "' is beyond this processor or build, which has '" + kNames[highest()] +
                                  "'; choose a lower one");
    return level;
  }
  throw std::invalid_argument("the instruction set must be 'baseline', 'v3' or 'v4'; got '" + name + "'");
}

inline Level wanted() {
  const char* name = std::getenv("WINKEL_ISA");
  return name == nullptr || *name == '\0' ? highest() : named(name);
}

// The level in use. Throws at first use when WINKEL_ISA names none.
inline std::atomic<Level>& level() {
  static std::atomic<Level> chosen{wanted()};
  return chosen;
}

template <auto F>
struct Forms;

template <class R, class... A, R (*F)(A...)>
struct Forms<F> {
  using Pointer = R (*)(A...);
  static R plain(A... a) { return F(a...); }
#if defined(WINKEL_X86_LEVELS)
  WINKEL_V3 static R on_v3(A... a) { return F(a...); }
  WINKEL_V4 static R on_v4(A... a) { return F(a...); }
  static constexpr Pointer table[] = {plain, on_v3, on_v4};
#else
  static constexpr Pointer table[] = {plain};
#endif
};

}  // namespace isa

// The form of a function marked WINKEL_CLONES that is to run here.
template <auto F>
typename isa::Forms<F>::Pointer kernel() {
  return isa::Forms<F>::table[isa::level().load(std::memory_order_relaxed)];
}

}  // namespace winkel
