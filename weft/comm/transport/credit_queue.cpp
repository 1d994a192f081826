#include "weft/comm/transport/credit_queue.h"

#include <exception>

namespace weft {

bool CreditQueue::may_go(const Place& place, std::size_t bytes) const {
  if (*waiting_.begin() != place) return false;
  return credit_ == 0 || under_way_ == 0 || under_way_ + bytes <= credit_;
}

Task<> CreditQueue::pass(int priority, std::size_t bytes, Task<> work) {
  const Place place{-priority, next_++};
  waiting_.insert(place);
  try {
    while (!may_go(place, bytes)) co_await changed_.next();
  } catch (...) {
    waiting_.erase(place);
    throw;
  }
  waiting_.erase(place);
  under_way_ += bytes;
  // It begins before the next one may, for which there may be credit, too.
  work.start();
  changed_.notify_all();
  std::exception_ptr failure;
  try {
    co_await work;
  } catch (...) {
    failure = std::current_exception();
  }
  under_way_ -= bytes;
  changed_.notify_all();
  if (failure) std::rethrow_exception(failure);
}

Task<> send_message(Channel channel, int to, std::span<const std::byte> bytes) {
  Transfer sent = channel.send(to, bytes);
  co_await sent;
}

Task<> send_for_receipt(Channel channel, int to,
                        std::span<const std::byte> bytes) {
  Transfers transfers(channel);
  transfers.receive(to, {});
  transfers.send(to, bytes);
  co_await transfers.all();
}

Task<> send_lossy_message(Channel channel, int to,
                          std::span<const std::byte> bytes) {
  Transfer sent = channel.send_lossy(to, bytes);
  co_await sent;
}

}  // namespace weft
