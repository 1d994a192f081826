#include "weft/comm/transport/task.h"

namespace weft {

Task<> all_of(std::vector<Task<>> tasks) {
  for (Task<>& task : tasks) task.start();
  std::exception_ptr failure;
  // In order, which takes as long as the slowest.
  for (Task<>& task : tasks) {
    // The others are awaited after a failure too, so that which failure is
    // thrown does not depend on which comes first.
    try {
      co_await task;
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

Error error_of(const std::exception_ptr& thrown, const std::string& where) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, where, std::string(error.what()));
  }
}

}  // namespace weft
