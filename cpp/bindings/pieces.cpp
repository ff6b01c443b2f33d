#include "core/pieces.hpp"

#include "bindings.hpp"
#include "checks.hpp"

namespace winkel {

void bind_pieces(nb::module_& m) {
  m.def(
      "map_pieces",
      [](Mat<const double> Y, int64_t k, double factor, Threads threads) {
        const int64_t n = rows_in(Y);
        require_index_range(n);
        require(Y.shape(1) >= 1, "Y must have a column");
        require_finite(Y, "Y must be finite");
        require(k >= 1 && k < n, "k must be at least 1 and less than the number of rows");
        auto [array, piece_] = new_array<Out1<int32_t>, int32_t>({Y.shape(0)});
        int32_t* piece = piece_;
        const Unlocked unlocked;
        PieceFinder(Y.data(), n, columns_in(Y), threads).find(k, factor, piece);
        return array;
      },
      nb::arg("Y"), nb::arg("k"), nb::arg("factor"), nb::arg("threads"),
      "Smallest row of each row's piece: rows are linked when nearer than `factor` times the larger of their "
      "distances to the k-th neighbour.");
}

}  // namespace winkel
