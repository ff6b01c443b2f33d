// Who may use an object that several threads hold: any number of readers, or one that changes it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "parallel.hpp"

namespace winkel {

// Whoever waits looks for signals, and gives up when the hook throws.
class Access {
 public:
  Access() = default;
  Access(const Access&) {}  // a copy is another object, which nobody uses yet
  Access& operator=(const Access&) = delete;

  void enter(bool alone) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (alone ? readers_ > 0 || changing_ : changing_) {
      changed_.wait_for(lock, pool::kCheckEvery);
      lock.unlock();
      poll();
      lock.lock();
    }
    alone ? static_cast<void>(changing_ = true) : static_cast<void>(++readers_);
  }

  void leave(bool alone) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      alone ? static_cast<void>(changing_ = false) : static_cast<void>(--readers_);
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int readers_ = 0;
  bool changing_ = false;
};

template <bool kAlone>
class Visit {
 public:
  explicit Visit(Access& access) : access_(access) { access_.enter(kAlone); }
  ~Visit() { access_.leave(kAlone); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Access& access_;
};

using Reading = Visit<false>;
using Changing = Visit<true>;

// A T that several threads may hold.
template <class T>
struct Guarded : T {
  using T::T;
  Guarded(T&& made) : T(std::move(made)) {}
  mutable Access access;
};

}  // namespace winkel
