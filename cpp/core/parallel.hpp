// Threads. A kernel owns what it writes, and sums run over blocks whose size never depends on the number of
// threads, so that results have the same bytes for any n_jobs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>
#if defined(_OPENMP)
#include <omp.h>
#endif

// Functions marked so are compiled for several instruction sets and chosen when the library is loaded.
// Keep them leaf functions without OpenMP regions or lambdas: outlined bodies do not inherit the target.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(WINKEL_NO_CLONES)
#define WINKEL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WINKEL_CLONES
#endif

namespace winkel {

inline int thread_id() {
#if defined(_OPENMP)
  return omp_get_thread_num();
#else
  return 0;
#endif
}

// Calls body(begin, end) for consecutive blocks of [0, n), dealt to threads as they become free.
template <class Body>
void parallel_blocks(int64_t n, int64_t block, int threads, const Body& body) {
  const int64_t count = (n + block - 1) / block;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1 && count > 1)
  for (int64_t b = 0; b < count; ++b) body(b * block, std::min(n, (b + 1) * block));
  (void)threads;
}

// The same for work that touches its neighbourhood: blocks are dealt so that threads work far from each
// other.
template <class Body>
void parallel_regions(int64_t n, int64_t block, int threads, const Body& body) {
  const int64_t count = (n + block - 1) / block, region = (count + threads - 1) / threads;
  parallel_blocks(region * threads, 1, threads, [&](int64_t turn, int64_t) {
    const int64_t b = turn % threads * region + turn / threads;
    if (b < count) body(b * block, std::min(n, (b + 1) * block));
  });
}

// Sum over blocks of body(begin, end), added in block order.
template <class T, class Body>
T parallel_total(int64_t n, int64_t block, int threads, const Body& body) {
  std::vector<T> part(static_cast<size_t>((n + block - 1) / block), T{0});
  parallel_blocks(n, block, threads,
                  [&](int64_t lo, int64_t hi) { part[static_cast<size_t>(lo / block)] = body(lo, hi); });
  T total{0};
  for (T p : part) total += p;
  return total;
}

template <class Body>
double parallel_sum(int64_t n, int64_t block, int threads, const Body& body) {
  return parallel_total<double>(n, block, threads, body);
}

template <class Body>
int64_t parallel_count(int64_t n, int64_t block, int threads, const Body& body) {
  return parallel_total<int64_t>(n, block, threads, body);
}

}  // namespace winkel
