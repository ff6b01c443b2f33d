#include "core/rng.hpp"

#include "bindings.hpp"

namespace winkel {

namespace {
template <class T, class Draw>
Out1<T> draws(uint64_t start, size_t n, const Draw& draw) {
  auto [array, out] = new_array<Out1<T>, T>({n});
  nb::gil_scoped_release release;
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
        const Random rng(seed, stream);
        return draws<int64_t>(start, n,
                              [&](uint64_t i) { return static_cast<int64_t>(rng.below(i, bound)); });
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("start"), nb::arg("n"), nb::arg("bound"),
      "Uniform draws in {0, ..., bound - 1}.");
}

}  // namespace winkel
