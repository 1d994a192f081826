#include "weft/runtime/tagged/crew.h"

#include <system_error>

#include "weft/base/error.h"
#include "weft/base/parallel.h"

namespace weft {

Crew::Crew(int size) {
  try {
    // The thread that calls run() is worker 0.
    for (int i = 1; i < size; ++i) {
      threads_.emplace_back([this, i] { serve(i); });
    }
  } catch (const std::system_error& error) {
    // Those that are there wait for work, and must end before they are gone.
    close();
    throw Error(ErrorCode::kExhausted, "executor",
                "the system gives {} of {} workers a thread: {}",
                threads_.size() + 1, size, error.what())
        .hint(
            "ask for fewer workers; there is little to gain beyond one for "
            "each core");
  }
}

Crew::~Crew() { close(); }

void Crew::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::run(const std::function<void(int)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    mode_ = float_mode();
    // The run has a number, by which a thread that wakes knows whether it has
    // served this one already.
    busy_ = static_cast<int>(threads_.size());
    ++run_;
  }
  changed_.notify_all();
  {
    // Workers share out the cores: threads of their kernels would only wait for
    // each other's. This is the caller's thread, which keeps the count that it
    // had.
    const OnOneThread kernels_of_this_one;
    work(0);
  }
  std::unique_lock lock(mutex_);
  // `work` is the caller's, and lives until all have left it.
  changed_.wait(lock, [&] { return busy_ == 0; });
}

void Crew::serve(int index) {
  set_thread_count(1);
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_closing_ || run_ != seen; });
    if (is_closing_) return;
    seen = run_;
    const auto* work = work_;
    const FloatMode mode = mode_;
    // Under the lock, workers would run one after the other.
    lock.unlock();
    {
      const FloatModeScope as_caller(mode);
      (*work)(index);
    }
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace weft
