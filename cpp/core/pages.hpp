// Room for large arrays. Where they are read here and there, looking up the place of a page of 4 kB takes as
// long as reading it: the system is asked for pages of 2 MB, which it also hands out sooner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
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

// Room for values of which it is not yet known how many there will be: pages that are never written to take
// no memory, and `shrink` gives the rest back without a copy.
template <class T>
class Room {
 public:
  explicit Room(size_t most = 0) : data_(static_cast<T*>(std::malloc((most + 1) * sizeof(T)))), size_(most) {
    if (!data_) throw std::bad_alloc();
  }

  void shrink(size_t size) {
    T* const kept = static_cast<T*>(std::realloc(data_.get(), (size + 1) * sizeof(T)));
    if (kept != nullptr) data_.release(), data_.reset(kept);
    size_ = size;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T[], Free> data_;
  size_t size_;
};

}  // namespace winkel
