// Counter-based random numbers: a number is a pure function of (seed, stream, counter), so any thread may
// draw any part of a sequence and the bytes are the same. Philox4x32-10 of Salmon et al. (SC 2011).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "vecmath.hpp"

namespace winkel {

inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> ctr, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * ctr[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * ctr[2];
    ctr = {static_cast<uint32_t>(p1 >> 32) ^ ctr[1] ^ key[0], static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ ctr[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return ctr;
}

// The i-th draw of a stream, one 64-bit word per counter value.
class Random {
 public:
  Random(uint64_t seed, uint64_t stream)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, stream_(stream) {}

  uint64_t bits(uint64_t i) const { return pair(i)[0]; }

  // Uniform in [0, 1) with 53 bits.
  double uniform(uint64_t i) const { return to_unit(bits(i)); }

  // Uniform in {0, ..., bound - 1} for bound <= 2^53; the bias of at most bound / 2^53 is beyond measurement.
  uint64_t below(uint64_t i, uint64_t bound) const {
    return static_cast<uint64_t>(uniform(i) * static_cast<double>(bound));
  }

  // Standard normal by Box and Muller.
  double normal(uint64_t i) const {
    const auto b = pair(i);
    const double u = 1.0 - to_unit(b[0]);
    return std::sqrt(-2.0 * vecmath::log(u)) * vecmath::cos_turns(to_unit(b[1]));
  }

 private:
  static double to_unit(uint64_t b) { return static_cast<double>(b >> 11) * 0x1.0p-53; }

  std::array<uint64_t, 2> pair(uint64_t i) const {
    const auto w = philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32),
                               static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                              key_);
    return {w[0] | (uint64_t{w[1]} << 32), w[2] | (uint64_t{w[3]} << 32)};
  }

  std::array<uint32_t, 2> key_;
  uint64_t stream_;
};

// A fast 64-bit mix for priorities in inner loops, where Philox's quality is not needed (splitmix64's
// finaliser).
inline uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace winkel
