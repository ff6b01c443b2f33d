// Room for large arrays. Where they are read here and there, looking up the place of a page of 4 kB takes as
// long as reading it: the system is asked for pages of 2 MB, which it also hands out sooner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace winkel {

constexpr size_t kLargeBytes = size_t{1} << 22;  // smaller arrays are left as they are

// Asks for large pages for those of `bytes` from `data` on; without them all goes on as before.
inline void want_large_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr uintptr_t kPage = 4096;
  if (bytes < kLargeBytes) return;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), reinterpret_cast<uintptr_t>(data) + bytes - begin, MADV_HUGEPAGE);
#endif
}

template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(size_t count) {
    void* data = ::operator new(count * sizeof(T), std::align_val_t{64});
    want_large_pages(data, count * sizeof(T));
    return static_cast<T*>(data);
  }
  void deallocate(T* data, size_t) { ::operator delete(data, std::align_val_t{64}); }

  bool operator==(const LargePages&) const { return true; }
  bool operator!=(const LargePages&) const { return false; }
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace winkel
