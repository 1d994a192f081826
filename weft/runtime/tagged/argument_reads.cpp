#include "weft/runtime/tagged/argument_reads.h"

#include <algorithm>
#include <chrono>

namespace weft {
namespace {

// How long one look at the network may last, which a region that has run waits
// for.
constexpr double kLookSeconds = 1e-3;
// How often a request to stop is heard meanwhile.
constexpr std::chrono::milliseconds kPatience{50};

}  // namespace

bool TaggedWorker::misses_arguments(const Work& work) {
  const std::lock_guard lock(coming_);
  return std::ranges::any_of(work.inputs, [&](const Input& input) {
    return input.is_argument && !are_missing_.empty() &&
           are_missing_[input.slot];
  });
}

TaggedWorker::ArgumentReads::ArgumentReads(TaggedWorker& worker,
                                           const Work& work)
    : worker_(worker),
      work_(work),
      thread_([this](const std::stop_token& stop) { move_messages(stop); }) {}

void TaggedWorker::ArgumentReads::move_messages(const std::stop_token& stop) {
  std::exception_ptr failure;
  try {
    while (!stop.stop_requested() && worker_.misses_arguments(work_)) {
      worker_.listen(kLookSeconds);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(worker_.coming_);
    failure_ = failure;
    is_over_ = true;
  }
  worker_.has_come_.notify_all();
}

void TaggedWorker::ArgumentReads::before_argument(std::size_t index) {
  // Behind the inputs come totals, which are made here.
  if (index >= work_.inputs.size() || !work_.inputs[index].is_argument) return;
  const std::uint32_t argument = work_.inputs[index].slot;
  std::unique_lock lock(worker_.coming_);
  const auto is_there = [&] {
    return !worker_.are_missing_[argument] || is_over_;
  };
  while (!worker_.has_come_.wait_for(lock, kPatience, is_there)) {
    worker_.check_stop();
  }
  if (!worker_.are_missing_[argument]) return;
  lock.unlock();
  finish();
}

void TaggedWorker::ArgumentReads::finish() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace weft
