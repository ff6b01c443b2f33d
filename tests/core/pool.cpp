// What core/parallel.hpp promises, tried without Python. Ends with a message and 1 at the first broken
// promise.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/parallel.hpp"

// Sanitizers need memory of their own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WINKEL_SANITIZED 1
#elif defined(__has_feature)
#define WINKEL_SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#else
#define WINKEL_SANITIZED 0
#endif

using namespace winkel;

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::exit(1);
}

// A little work that the compiler cannot leave out.
double toil(int64_t seed, int64_t steps) {
  double x = static_cast<double>(seed);
  for (int64_t s = 0; s < steps; ++s) x = x * 0.999 + 1.0;
  return x;
}

double sum_of(int64_t n, int threads) {
  return parallel_sum(n, 7, threads, [](int64_t lo, int64_t hi) {
    double sum = 0.0;
    for (int64_t i = lo; i < hi; ++i) sum += toil(i, 200) / 3.0;
    return sum;
  });
}

void every_block_runs_once() {
  for (int threads : {1, 2, 3, 8}) {
    std::vector<int> seen(1000, 0);
    std::atomic<bool> fits{true};
    parallel_blocks(1000, 3, threads, [&](int64_t lo, int64_t hi) {
      if (thread_id() < 0 || thread_id() >= threads) fits = false;
      for (int64_t i = lo; i < hi; ++i)
        seen[static_cast<size_t>(i)] += 1 + static_cast<int>(toil(0, 50) < 0.0);
    });
    expect(fits, "threads are numbered below their count");
    for (int s : seen) expect(s == 1, "every block runs once");
  }
  expect(sum_of(5000, 1) == sum_of(5000, 2) && sum_of(5000, 1) == sum_of(5000, 5), "the same sum");
}

void exceptions_arrive() {
  for (int threads : {1, 2, 4}) {
    for (int64_t bad : {0, 1, 500, 999}) {
      std::atomic<int64_t> after{0};
      bool caught = false;
      try {
        parallel_blocks(1000, 1, threads, [&](int64_t i, int64_t) {
          if (i == bad) throw std::bad_alloc();
          toil(i, 2000);
          after += 1;
        });
      } catch (const std::bad_alloc&) {
        caught = true;
      }
      expect(caught, "an exception arrives at the caller as it was thrown");
      expect(threads > 1 || after == bad, "the rest does not run");
    }
    expect(sum_of(100, threads) == sum_of(100, 1), "the pool goes on after an exception");
  }
}

void loops_within_loops() {
  std::vector<double> sums(40, 0.0);
  parallel_blocks(40, 1, 3, [&](int64_t i, int64_t) {
    std::vector<int> own(2, 0);
    parallel_blocks(10, 1, 2, [&](int64_t, int64_t) { own[static_cast<size_t>(thread_id())] += 1; });
    expect(own[0] == 10, "a loop within a loop runs on its thread");
    sums[static_cast<size_t>(i)] = sum_of(300, 2);
  });
  for (double s : sums) expect(s == sums[0], "loops within loops give the same sum");
}

void many_callers() {
  const double right = sum_of(2000, 1);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 6; ++c)
    callers.emplace_back([&, c] {
      for (int turn = 0; turn < 20; ++turn) wrong += sum_of(2000, 1 + (c + turn) % 4) != right;
    });
  for (auto& caller : callers) caller.join();
  expect(wrong == 0, "callers at the same time get the same sum");
}

struct Cancelled : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::atomic<bool> cancel{false};

void the_hook_ends_a_loop() {
  pool::hook().store([] {
    if (cancel) throw Cancelled("asked to");
  });
  for (int threads : {1, 3}) {
    cancel = false;
    std::thread soon([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      cancel = true;
    });
    const auto begin = pool::Clock::now();
    bool caught = false;
    try {
      // Two blocks that would never end by themselves: only polling gets out of them.
      parallel_blocks(2, 1, threads, [](int64_t, int64_t) {
        for (;;) poll();
      });
    } catch (const Cancelled&) {
      caught = true;
    }
    soon.join();
    expect(caught && pool::Clock::now() - begin < std::chrono::seconds(2), "the hook ends a loop");
  }
  pool::hook().store(nullptr);
}

void a_child_has_its_own_pool() {
  const double right = sum_of(3000, 3);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(sum_of(3000, 3) == right ? 0 : 2);
  }
  int status = 0;
  expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
         "a forked child works");
  expect(sum_of(3000, 3) == right, "and so does its parent");
}

[[maybe_unused]] const double* volatile used;  // else a compiler may leave out what is allocated for nothing

// A child that may not have more memory than it has: no helper can start, and the loop runs all the same.
void without_memory_the_caller_works() {
#if !WINKEL_SANITIZED
  const double right = sum_of(3000, 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_AS, &none);
    bool thrown = false;
    try {
      if (sum_of(3000, 3) != right) _exit(2);
      parallel_blocks(100, 1, 3, [](int64_t, int64_t) {
        std::vector<double> large(size_t{1} << 27, toil(1, 1));
        used = large.data();
      });
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    _exit(thrown ? 0 : 3);
  }
  int status = 0;
  expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
         "a process without memory works on its own thread, and what it cannot allocate is thrown");
#endif
}

void locks_exclude() {
  SpinLock lock;
  int64_t count = 0;
  parallel_blocks(2000, 1, 4, [&](int64_t, int64_t) {
    for (int k = 0; k < 50; ++k) {
      lock.lock();
      ++count;
      lock.unlock();
    }
  });
  expect(count == 100000, "a lock excludes");
}

}  // namespace

int main() {
  every_block_runs_once();
  exceptions_arrive();
  loops_within_loops();
  many_callers();
  the_hook_ends_a_loop();
  locks_exclude();
  a_child_has_its_own_pool();
  without_memory_the_caller_works();
  return 0;
}
