// Threads, and the only place that knows them. A kernel owns what it writes, and sums run over blocks whose
// size never depends on the number of threads, so that results have the same bytes for any n_jobs.
//
// A loop is a number of blocks, dealt to threads as they become free. Whoever starts it works on it, and
// helpers of one shared pool join while there are blocks left: on a busy machine nobody waits for a thread
// that has not woken. An exception in a block stops the loop and is thrown to whoever started it, as is what
// the interrupt hook throws, which the starting thread calls every 50 ms. Loops within loops run on the
// thread they are in. Helpers sleep when there is nothing to do, and a forked child starts with a pool of its
// own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>
#if !defined(_WIN32)
#include <pthread.h>
#include <sys/mman.h>

#include <csignal>
#endif

namespace winkel {

namespace pool {

using Clock = std::chrono::steady_clock;

constexpr auto kCheckEvery = std::chrono::milliseconds(50);
constexpr auto kSmallWork = std::chrono::microseconds(50);  // done before a helper is awake
constexpr int kTurns = 200;  // looks at a flag before a thread sleeps: microseconds
constexpr int kMostHelpers = 512;
constexpr size_t kRoom = size_t{4} << 20;   // bytes that must be free when a thread starts
constexpr size_t kStack = size_t{2} << 20;  // bytes of a helper's stack

// Called about every 50 ms by the thread that started a loop; what it throws ends the loop. Null: nobody
// asks.
using Hook = void (*)();

inline std::atomic<Hook>& hook() {
  static std::atomic<Hook> installed{nullptr};
  return installed;
}

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

struct Stopped {};  // thrown out of a block whose loop has ended

struct Loop {
  void (*run)(const void* body, int64_t block);
  const void* body;
  int64_t count;
  std::atomic<int64_t> next{0};   // the first block that nobody has taken
  std::atomic<bool> stop{false};  // set by an exception
  std::atomic<int> helpers{0};    // at work, beside the thread that started the loop
  int seats = 0, taken = 0;       // helpers that may join, and have; of the pool's mutex
  std::exception_ptr error;       // the first; of the loop's mutex
  std::mutex mutex;
  std::condition_variable finished;

  void fail(std::exception_ptr e) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!error) error = std::move(e);
    stop.store(true, std::memory_order_relaxed);
  }
};

// Where a thread is: in which loop, under which number, and when it asks the hook next.
struct Place {
  Loop* loop = nullptr;
  int number = 0;
  bool starter = true;
  Clock::time_point next_check{};
};

// In memory that every thread has from its start on: elsewhere the first look at it may have to allocate, and
// the C library ends the process when it cannot. (GCC 12's check for null pointers takes such an address for
// null.)
#if defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__)
#define WINKEL_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
#define WINKEL_THREAD_LOCAL thread_local
#endif

inline Place& place() {
  WINKEL_THREAD_LOCAL static Place here;
  return here;
}

// What the C++ library keeps for a thread that throws is allocated at its first look; without memory for it
// the C library ends the process. So a thread looks while there is memory. (The result is used, as the call
// is left out otherwise.)
inline void prepare_to_throw() {
  WINKEL_THREAD_LOCAL static bool ready = false;
  if (ready) return;
  volatile int thrown = std::uncaught_exceptions();
  (void)thrown;
  ready = true;
}

inline void ask_hook() {
  Place& here = place();
  const Hook ask = hook().load(std::memory_order_relaxed);
  if (ask == nullptr) return;
  const auto now = Clock::now();
  if (now < here.next_check) return;
  here.next_check = now + kCheckEvery;
  ask();
}

// Takes blocks until there are none.
inline void work(Loop& loop) {
  const bool starter = place().starter;
  while (!loop.stop.load(std::memory_order_relaxed)) {
    const int64_t block = loop.next.fetch_add(1, std::memory_order_relaxed);
    if (block >= loop.count) return;
    try {
      loop.run(loop.body, block);
      if (starter) ask_hook();
    } catch (const Stopped&) {
      return;
    } catch (...) {
      loop.fail(std::current_exception());
    }
  }
}

class Helpers {
 public:
  // The pool of this process. It is never taken down: threads that sleep end with the process.
  static Helpers& instance() {
    Helpers* pool = current().load(std::memory_order_acquire);
    if (pool != nullptr) return *pool;
#if !defined(_WIN32)
    static const int watched = pthread_atfork(nullptr, nullptr, [] {
      current().store(nullptr, std::memory_order_release);  // its threads are not in the child
    });
    (void)watched;
#endif
    auto* made = new Helpers;
    if (current().compare_exchange_strong(pool, made)) return *made;
    delete made;
    return *pool;
  }

  // Lets up to `seats` helpers join.
  void open(Loop& loop, int seats) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      loop.seats = seats;
      open_.push_back(&loop);
      published_.fetch_add(1, std::memory_order_release);
      int wanted = 0;
      for (const Loop* each : open_) wanted += each->seats - each->taken;
      while (idle_ < wanted && threads_ < kMostHelpers && start_thread()) ++idle_, ++threads_;
    }
    for (int s = 0; s < seats; ++s) wake_.notify_one();
  }

  // Waits until nobody works on the loop.
  void close(Loop& loop) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      open_.erase(std::remove(open_.begin(), open_.end(), &loop), open_.end());
    }
    for (int turn = 0; turn < kTurns && loop.helpers.load(std::memory_order_acquire) > 0; ++turn) pause();
    std::unique_lock<std::mutex> lock(loop.mutex);
    while (loop.helpers.load(std::memory_order_acquire) > 0) {
      if (loop.finished.wait_for(lock, kCheckEvery) != std::cv_status::timeout) continue;
      lock.unlock();
      try {
        ask_hook();
      } catch (...) {
        loop.fail(std::current_exception());
      }
      lock.lock();
    }
  }

 private:
  static std::atomic<Helpers*>& current() {
    static std::atomic<Helpers*> pool{nullptr};
    return pool;
  }

  // False when the system allows no more threads, or has no memory for one: then there are fewer helpers.
  // Signals go to other threads.
  bool start_thread() {
    // What a thread asks memory for later, and would end the process without, it asks for at once: while the
    // room kept free for that is free again and the thread that starts it waits.
    Birth birth{this};
#if !defined(_WIN32)
    // From the system, not the heap: a new thread has no part of that yet, and may not get one.
    void* room = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
    const bool started = launch(birth);
#if !defined(_WIN32)
    munmap(room, kRoom);
#endif
    birth.step.store(1, std::memory_order_release);
    while (started && birth.step.load(std::memory_order_acquire) != 2) std::this_thread::yield();
#if !defined(_WIN32)
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
    return started;
  }

  // A thread that is being started: 1 when it may go on, 2 when it has what it needs.
  struct Birth {
    Helpers* pool;
    std::atomic<int> step{0};
  };

  static void* live(void* given) {
    auto* birth = static_cast<Birth*>(given);
    while (birth->step.load(std::memory_order_acquire) == 0) std::this_thread::yield();
    prepare_to_throw();
    Helpers* pool = birth->pool;
    birth->step.store(2, std::memory_order_release);
    pool->help();
    return nullptr;
  }

#if defined(_WIN32)
  static bool launch(Birth& birth) {
    try {
      std::thread(live, &birth).detach();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
#else
  // Not by std::thread: a stack of known size takes less of a memory that is short, and nothing is thrown.
  static bool launch(Birth& birth) {
    pthread_attr_t wishes;
    if (pthread_attr_init(&wishes) != 0) return false;
    pthread_attr_setstacksize(&wishes, kStack);
    pthread_attr_setdetachstate(&wishes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    const bool started = pthread_create(&thread, &wishes, live, &birth) == 0;
    pthread_attr_destroy(&wishes);
    return started;
  }
#endif

  void help() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Loop* loop = join();
      if (loop == nullptr) {
        // Loops often follow one another closely.
        const uint64_t seen = published_.load(std::memory_order_acquire);
        lock.unlock();
        for (int turn = 0; turn < kTurns && published_.load(std::memory_order_acquire) == seen; ++turn)
          pause();
        lock.lock();
        wake_.wait(lock, [&] { return (loop = join()) != nullptr; });
      }
      --idle_;
      lock.unlock();
      work(*loop);
      leave(*loop);
      lock.lock();
      ++idle_;
    }
  }

  // Takes a seat in an open loop, if there is one.
  Loop* join() {
    for (Loop* loop : open_) {
      if (loop->taken >= loop->seats || loop->next.load(std::memory_order_relaxed) >= loop->count) continue;
      loop->helpers.fetch_add(1, std::memory_order_relaxed);
      Place& here = place();
      here.loop = loop;
      here.number = ++loop->taken;
      here.starter = false;
      return loop;
    }
    return nullptr;
  }

  // The loop may be gone as soon as its mutex is free.
  static void leave(Loop& loop) {
    const std::lock_guard<std::mutex> lock(loop.mutex);
    place().loop = nullptr;
    if (loop.helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) loop.finished.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Loop*> open_;
  std::atomic<uint64_t> published_{0};
  int idle_ = 0, threads_ = 0;
};

// Puts a thread in its place and back.
class Stay {
 public:
  Stay(Loop* loop, int number) : before_(place()) {
    place().loop = loop;
    place().number = number;
  }
  ~Stay() {
    place().loop = before_.loop;
    place().number = before_.number;
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

 private:
  const Place before_;
};

inline void run(Loop& loop, int threads) {
  const Stay stay(&loop, 0);
  const auto begin = Clock::now();
  // Where blocks are many, the first tells whether help would come in time.
  if (loop.count >= int64_t{16} * threads) {
    loop.next.store(1, std::memory_order_relaxed);
    loop.run(loop.body, 0);
    ask_hook();
    if ((Clock::now() - begin) * (loop.count - 1) < kSmallWork) threads = 1;
  }
  if (threads > 1) {
    Helpers& helpers = Helpers::instance();
    helpers.open(loop, static_cast<int>(std::min<int64_t>(threads, loop.count)) - 1);
    work(loop);
    helpers.close(loop);
  } else {
    work(loop);
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace pool

// The number of this thread within the loop it works in: less than the loop's threads.
inline int thread_id() {
  return pool::place().number;
}

// To be called now and then in blocks that take long: throws when the loop is to end.
inline void poll() {
  const pool::Place& here = pool::place();
  if (here.loop != nullptr && here.loop->stop.load(std::memory_order_relaxed)) throw pool::Stopped{};
  if (here.starter) pool::ask_hook();
}

// The hook is asked 50 ms from now: whoever calls this has just asked.
inline void defer_poll() {
  pool::place().next_check = pool::Clock::now() + pool::kCheckEvery;
}

// Calls body(begin, end) for consecutive blocks of [0, n), dealt to threads as they become free.
template <class Body>
void parallel_blocks(int64_t n, int64_t block, int threads, const Body& body) {
  if (n <= 0) return;
  const int64_t count = (n + block - 1) / block;
  if (pool::place().loop != nullptr || threads <= 1 || count <= 1) {
    const pool::Stay stay(pool::place().loop, 0);
    for (int64_t b = 0; b < count; ++b) {
      body(b * block, std::min(n, (b + 1) * block));
      poll();
    }
    return;
  }
  const auto one = [&](int64_t b) { body(b * block, std::min(n, (b + 1) * block)); };
  pool::Loop loop;
  loop.run = [](const void* f, int64_t b) { (*static_cast<decltype(one)*>(f))(b); };
  loop.body = &one;
  loop.count = count;
  pool::run(loop, threads);
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

// A lock held for a few instructions. When its holder has lost its processor, waiting gives up its own.
class SpinLock {
 public:
  void lock() {
    for (int turn = 0; flag_.test_and_set(std::memory_order_acquire); ++turn) {
      if (turn < 64)
        pool::pause();
      else
        std::this_thread::yield();
    }
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

}  // namespace winkel
