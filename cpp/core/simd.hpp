// What code that is to become vector instructions shares: how many numbers lie side by side, and how
// functions are marked.
#pragma once

#include <cstdint>

// Functions marked so are compiled for several instruction sets and chosen when the library is loaded.
// Keep them leaf functions without parallel loops or lambdas: outlined bodies do not inherit the target.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(WINKEL_NO_CLONES)
#define WINKEL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WINKEL_CLONES
#endif

// Small functions that a loop can only be vector code with.
#if defined(__GNUC__)
#define WINKEL_INLINE inline __attribute__((always_inline))
#else
#define WINKEL_INLINE inline
#endif

namespace winkel {

constexpr int64_t kLanes = 16;  // rows, points or pairs worked on side by side

}  // namespace winkel
