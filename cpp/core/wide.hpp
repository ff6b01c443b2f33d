// Kernels whose vectors are written out: one form for each width of registers, since compilers do badly with
// vectors wider than the registers are. What a lane holds does not depend on the width.
#pragma once

#include "isa.hpp"

namespace winkel {

// The form that is to run here, of three that work on vectors of 16, 32 and 64 bytes.
template <auto Narrow, auto Middle, auto Wide>
typename isa::Forms<Narrow>::Pointer wide_kernel() {
#if defined(WINKEL_X86_LEVELS)
  const isa::Level level = isa::level().load(std::memory_order_relaxed);
  if (level == isa::v4) return isa::Forms<Wide>::on_v4;
  if (level == isa::v3) return isa::Forms<Middle>::on_v3;
#endif
  return isa::Forms<Narrow>::plain;
}

}  // namespace winkel
