// What code that is to become vector instructions shares: how many numbers lie side by side, and how
// functions are marked.
#pragma once

#include <cstdint>

#include "isa.hpp"

// Small functions that a loop can only be vector code with.
#if defined(__GNUC__)
#define WINKEL_INLINE inline __attribute__((always_inline))
#else
#define WINKEL_INLINE inline
#endif

namespace winkel {

constexpr int64_t kLanes = 16;  // rows, points or pairs worked on side by side

}  // namespace winkel
