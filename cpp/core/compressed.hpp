// Compressed rows (CSR): whether arrays from outside are some, so that reading them stays within bounds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace winkel {

enum class CompressedFault { none, starts, column };

// Row starts of `rows` rows must rise from 0 to `entries`, and columns lie in [0, columns).
template <class Index>
CompressedFault check_compressed(const Index* starts, int64_t n_starts, int64_t rows, const int32_t* indices,
                                 int64_t entries, int64_t columns) {
  if (rows < 0 || n_starts != rows + 1 || starts[0] != 0 || static_cast<int64_t>(starts[rows]) != entries ||
      !std::is_sorted(starts, starts + n_starts))
    return CompressedFault::starts;
  const uint32_t limit = static_cast<uint32_t>(std::clamp<int64_t>(columns, 0, int64_t{1} << 31));
  bool outside = false;  // negative ones are large without their sign; without a branch this is vector code
  for (int64_t e = 0; e < entries; ++e) outside |= static_cast<uint32_t>(indices[e]) >= limit;
  return outside ? CompressedFault::column : CompressedFault::none;
}

}  // namespace winkel
