// What every binding file shares: array types, the way results are handed to Python, one register function a
// topic.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

#include "core/access.hpp"
#include "core/pages.hpp"
#include "core/parallel.hpp"

namespace nb = nanobind;

namespace winkel {

template <class T>
using Vec = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Mat = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
template <class T>
using Out2 = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig>;

// How many threads a call may use: every kernel gets at least one, and no more than the pool has.
class Threads {
 public:
  explicit Threads(int64_t asked = 1) : asked_(asked) {}

  operator int() const {
    if (asked_ < 1) throw std::invalid_argument("threads must be at least 1");
    return static_cast<int>(std::min<int64_t>(asked_, pool::kMostHelpers + 1));
  }

 private:
  int64_t asked_;
};

// The GIL is given up while a kernel works; parallel loops then look for signals (module.cpp), which Python
// has done until now.
struct Unlocked {
  Unlocked() {
    pool::prepare_to_throw();
    defer_poll();
  }
  nb::gil_scoped_release release;
};

// A new NumPy array that owns its memory, together with a pointer to fill it: all of it by the kernel, unless
// it is to begin with zeros, which the system then gives as they are touched.
template <class Array, class T>
std::pair<Array, T*> new_array(std::initializer_list<size_t> shape, bool zeros = false) {
  size_t size = 1;
  for (size_t s : shape) {
    if (s > 0 && size > std::numeric_limits<size_t>::max() / sizeof(T) / s) throw std::bad_alloc();
    size *= s;
  }
  const size_t count = size > 0 ? size : 1;
  T* data = static_cast<T*>(zeros ? std::calloc(count, sizeof(T)) : std::malloc(count * sizeof(T)));
  if (data == nullptr) throw std::bad_alloc();
  want_large_pages(data, count * sizeof(T));
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return {Array(data, shape.size(), shape.begin(), owner), data};
}

void bind_algebra(nb::module_& m);
void bind_knn(nb::module_& m);
void bind_lvm(nb::module_& m);
void bind_distances(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_isa(nb::module_& m);
void bind_dense(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_pieces(nb::module_& m);
void bind_place(nb::module_& m);
void bind_products(nb::module_& m);
void bind_field(nb::module_& m);
void bind_forces(nb::module_& m);
void bind_ranks(nb::module_& m);
void bind_rng(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_simplex(nb::module_& m);
void bind_sparse_query(nb::module_& m);
void bind_spline_grid(nb::module_& m);
void bind_tabulated(nb::module_& m);
void bind_volume_grid(nb::module_& m);

}  // namespace winkel

template <>
struct nanobind::detail::type_caster<winkel::Threads> {
  NB_TYPE_CASTER(winkel::Threads, const_name("int"))

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int64_t> number;
    if (!number.from_python(source, flags, cleanup)) return false;
    value = winkel::Threads(number.value);
    return true;
  }
};
