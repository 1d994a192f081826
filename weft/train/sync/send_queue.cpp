#include "weft/train/sync/send_queue.h"

#include <exception>

namespace weft {

bool SendQueue::may_go(const Place& place, std::size_t bytes) const {
  if (*waiting_.begin() != place) return false;
  return credit_ == 0 || under_way_ == 0 || under_way_ + bytes <= credit_;
}

Task<> SendQueue::send(Channel channel, int to,
                       std::span<const std::byte> bytes, int priority) {
  const Place place{-priority, next_++};
  waiting_.insert(place);
  while (!may_go(place, bytes.size())) co_await changed_.next();
  waiting_.erase(place);
  under_way_ += bytes.size();
  // There may be credit for the next one, too.
  changed_.notify_all();
  std::exception_ptr failure;
  try {
    Transfer sent = channel.send(to, bytes);
    co_await sent;
  } catch (...) {
    failure = std::current_exception();
  }
  // Those that wait have no transfer that could fail: they are let go, and find
  // out by themselves.
  under_way_ -= bytes.size();
  changed_.notify_all();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace weft
