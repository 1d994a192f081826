#include "weft/train/sync/arrivals.h"

#include <algorithm>

#include "weft/comm/transport/delay.h"

namespace weft {

Arrivals::Arrivals(Channel channel, std::span<const int> from, std::size_t most,
                   Quorum quorum)
    : channel_(std::move(channel)), quorum_(quorum) {
  for (const int rank : from) messages_.push_back({.from = rank});
  // Places are fixed before the first message comes, which may be at once.
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].from == channel_.rank()) continue;
    receiving_.push_back(receive(i, most));
    receiving_.back().start();
  }
}

void Arrivals::add_own(std::span<const std::byte> message) {
  const auto own =
      std::ranges::find(messages_, channel_.rank(), &Message::from);
  WEFT_CHECK(own != messages_.end() && !own->is_there);
  own->bytes.assign(message.begin(), message.end());
  own->is_there = true;
  count_one();
}

Task<> Arrivals::receive(std::size_t index, std::size_t most) {
  try {
    Bytes room(most);
    Transfer received = channel_.receive(messages_[index].from, room);
    room.resize(co_await received);
    // One that is late is read from the network and forgotten.
    if (!is_closed_) {
      messages_[index].bytes = std::move(room);
      messages_[index].is_there = true;
    }
    count_one();
  } catch (...) {
    failure_ = std::current_exception();
  }
  changed_.notify_all();
}

void Arrivals::count_one() {
  if (++arrived_ > 1 || quorum_.least == 0) return;
  timer_ = ring();
  timer_.start();
}

Task<> Arrivals::ring() {
  co_await Delay(channel_.transport(), quorum_.deadline);
  is_late_ = true;
  changed_.notify_all();
}

Task<> Arrivals::enough() {
  const auto least = static_cast<std::size_t>(quorum_.least);
  while (!is_complete() && !(is_late_ && arrived_ >= least)) {
    if (failure_) std::rethrow_exception(failure_);
    co_await changed_.next();
  }
}

Task<> Arrivals::rest() {
  while (!is_complete()) {
    if (failure_) std::rethrow_exception(failure_);
    co_await changed_.next();
  }
}

}  // namespace weft
