#include "weft/train/sync/arrivals.h"

#include <algorithm>
#include <limits>

#include "weft/comm/transport/delay.h"

namespace weft {
namespace {

// Writes NaN where nothing has come.
void fill_missing(const PartMap& came, std::span<float> values) {
  for (std::size_t part = 0; part < came.parts(); ++part) {
    if (came.has(part)) continue;
    std::ranges::fill(values.subspan(came.begin(part) / sizeof(float),
                                     came.size(part) / sizeof(float)),
                      std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace

Arrivals::Arrivals(Channel channel, std::span<const int> from, std::size_t most,
                   Quorum quorum, Completeness completeness, Receipts receipts)
    : channel_(std::move(channel)),
      quorum_(quorum),
      completeness_(completeness),
      receipts_(receipts),
      changed_(channel_.transport()) {
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
    co_await receive_from(messages_[index].from, room);
    // It is under way before anything is made of the message.
    Transfers receipt(channel_);
    if (receipts_ == Receipts::kGiven) receipt.send(messages_[index].from, {});
    // One that is late is read from the network and forgotten.
    if (!is_closed_) {
      messages_[index].bytes = std::move(room);
      messages_[index].is_there = true;
    }
    count_one();
    changed_.notify_all();
    co_await receipt.all();
    ++answered_;
    changed_.notify_all();
  } catch (...) {
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

Task<> Arrivals::receive_from(int rank, Bytes& room) {
  if (completeness_ == Completeness::kWhole) {
    Transfer received = channel_.receive(rank, room);
    room.resize(co_await received);
    co_return;
  }
  PartMap came;
  Transfer received = channel_.receive_lossy(rank, room, came);
  co_await received;
  fill_missing(came, {reinterpret_cast<float*>(room.data()),
                      room.size() / sizeof(float)});
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

// Its tasks tell: whoever is told by one of them must not let it go meanwhile.
bool Arrivals::is_over() const {
  return !failure_ && std::ranges::all_of(receiving_, &Task<>::is_done);
}

Task<> Arrivals::rest() {
  while (answered_ < receiving_.size()) {
    if (failure_) std::rethrow_exception(failure_);
    co_await changed_.next();
  }
}

}  // namespace weft
