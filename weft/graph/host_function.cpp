#include "weft/graph/host_function.h"

#include <utility>

namespace weft {
namespace {

// A kernel runs on the thread that asks afterwards, so no lock is needed.
thread_local std::exception_ptr kept;

}  // namespace

void keep_host_failure(std::exception_ptr failure) noexcept {
  // The first failure is the cause.
  if (!kept) kept = std::move(failure);
}

void throw_host_failure() {
  if (kept) std::rethrow_exception(std::exchange(kept, nullptr));
}

}  // namespace weft
