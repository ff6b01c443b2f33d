#include "core/rng.hpp"

#include <stdexcept>

#include "bindings.hpp"

namespace winkel {

namespace {
template <class T, class Draw>
Out1<T> draws(uint64_t start, size_t n, const Draw& draw) {
  auto [array, out] = new_array<Out1<T>, T>({n});
  const Unlocked unlocked;
  for (size_t i = 0; i < n; ++i) out[i] = draw(start + i);
  return array;
}
}  // namespace

void bind_rng(nb::module_& m) {
  m.def(
      "random_bits",
      [](uint64_t seed, uint64_t stream, uint64_t start, size_t n) {
        const Random rng(seed, stream);
        return draws<uint64_t>(start, n, [&](uint64_t i) { return rng.bits(i); });
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("start"), nb::arg("n"),
      "Draws start, ..., start + n - 1 of a stream as 64-bit words.");
  m.def(
      "random_uniform",
      [](uint64_t seed, uint64_t stream, uint64_t start, size_t n) {
        const Random rng(seed, stream);
        return draws<double>(start, n, [&](uint64_t i) { return rng.uniform(i); });
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("start"), nb::arg("n"), "Uniform draws in [0, 1).");
  m.def(
      "random_normal",
      [](uint64_t seed, uint64_t stream, uint64_t start, size_t n) {
        const Random rng(seed, stream);
        return draws<double>(start, n, [&](uint64_t i) { return rng.normal(i); });
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("start"), nb::arg("n"), "Standard normal draws.");
  m.def(
      "random_integers",
      [](uint64_t seed, uint64_t stream, uint64_t start, size_t n, uint64_t bound) {
        if (bound == 0 || bound > uint64_t{1} << 53)
          throw std::invalid_argument("bound must lie in [1, 2**53]");
        const Random rng(seed, stream);
        return draws<int64_t>(start, n,
                              [&](uint64_t i) { return static_cast<int64_t>(rng.below(i, bound)); });
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("start"), nb::arg("n"), nb::arg("bound"),
      "Uniform draws in {0, ..., bound - 1}; bound is at most 2**53.");
  m.def(
      "philox4x32",
      [](std::tuple<uint32_t, uint32_t, uint32_t, uint32_t> counter, std::tuple<uint32_t, uint32_t> key) {
        const auto w = philox4x32(
            {std::get<0>(counter), std::get<1>(counter), std::get<2>(counter), std::get<3>(counter)},
            {std::get<0>(key), std::get<1>(key)});
        return std::make_tuple(w[0], w[1], w[2], w[3]);
      },
      nb::arg("counter"), nb::arg("key"), "The four words that Philox4x32-10 makes of a counter and a key.");
}

}  // namespace winkel
