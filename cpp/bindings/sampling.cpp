#include "bindings.hpp"
#include "checks.hpp"
#include "core/sample_pairs.hpp"

namespace winkel {

void bind_sampling(nb::module_& m) {
  m.def(
      "sample_pairs",
      [](int64_t n, int64_t count, uint64_t seed, Vec<const int64_t> barred, Threads threads) {
        const int64_t n_barred = static_cast<int64_t>(barred.shape(0));
        require(n >= 2 && n < (int64_t{1} << 31), "there must be at least two items, and less than 2**31");
        require(count >= 0 && count <= (n * (n - 1) / 2 - n_barred) / 2,
                "at most half of the free pairs can be sampled");
        require(count < (int64_t{1} << 48), "fewer than 2**48 pairs can be sampled");
        require(std::is_sorted(barred.data(), barred.data() + n_barred), "barred pairs must be sorted");
        std::vector<int64_t> keys;
        {
          const Unlocked unlocked;
          keys = sample_pairs(n, count, seed, barred.data(), n_barred, threads);
        }
        auto [array, out] = new_array<Out2<int32_t>, int32_t>({keys.size(), 2});
        for (size_t k = 0; k < keys.size(); ++k) {
          out[2 * k] = static_cast<int32_t>(keys[k] / n);
          out[2 * k + 1] = static_cast<int32_t>(keys[k] % n);
        }
        return array;
      },
      nb::arg("n"), nb::arg("count"), nb::arg("seed"), nb::arg("barred"), nb::arg("threads"),
      "Random pairs i < j without repeats, sorted, none of them barred (sorted keys i·n + j).");
}

}  // namespace winkel
