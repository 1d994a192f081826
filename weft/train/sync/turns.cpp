#include "weft/train/sync/turns.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weft {
namespace {

// Nothing waits behind what it is about.
constexpr int kMostUrgent = std::numeric_limits<int>::max();

// The workers that a worker tells: its children in a binary tree.
void tell_children(const Channel& channel, const std::uint32_t& bucket,
                   Transfers& told) {
  for (const int child : {2 * channel.rank() + 1, 2 * channel.rank() + 2}) {
    if (child >= channel.size()) continue;
    told.send(child, std::as_bytes(std::span(&bucket, 1)));
  }
}

}  // namespace

Turns::Turns(Communicator group, std::size_t buckets, std::int64_t credit)
    : group_(std::move(group)),
      buckets_(buckets),
      queue_(group_.transport(), credit),
      changed_(group_.transport()) {}

Task<> Turns::pass(const Bucket& bucket, Task<> sum) {
  if (came_ == 0) begin_step();
  came_ = (came_ + 1) % buckets_;
  if (!decides()) return follow(bucket, std::move(sum));
  return queue_.pass(bucket.priority(), bucket.bytes(),
                     announce(*channel_, bucket.number(), std::move(sum)));
}

void Turns::begin_step() {
  channel_ = group_.open({"turns", "buckets", kMostUrgent});
  if (decides()) return;
  announced_.clear();
  begun_ = 0;
  listening_ = listen(*channel_, std::exchange(listening_, std::nullopt));
  listening_->start();
}

Task<> Turns::announce(Channel channel, std::uint32_t bucket, Task<> sum) {
  Transfers told(channel);
  tell_children(channel, bucket, told);
  sum.start();
  co_await told.all();
  co_await sum;
}

Task<> Turns::follow(const Bucket& bucket, Task<> sum) {
  const auto is_next = [&] {
    return begun_ < announced_.size() && announced_[begun_] == bucket.number();
  };
  while (!is_next()) {
    if (failure_) std::rethrow_exception(failure_);
    co_await changed_.next();
  }
  // Operations of the collective are entered before the next one's are.
  sum.start();
  ++begun_;
  changed_.notify_all();
  co_await sum;
}

// Passes on what the step before still had to say, and then this one's.
Task<> Turns::listen(Channel channel, std::optional<Task<>> before) {
  try {
    if (before) {
      Task<>& earlier = *before;
      co_await earlier;
    }
    before.reset();
    const int parent = (channel.rank() - 1) / 2;
    for (std::size_t heard = 0; heard < buckets_; ++heard) {
      std::uint32_t bucket = 0;
      const std::size_t bytes = co_await channel.receive(
          parent, std::as_writable_bytes(std::span(&bucket, 1)));
      const bool is_known =
          std::ranges::find(announced_, bucket) != announced_.end();
      if (bytes != sizeof(bucket) || bucket >= buckets_ || is_known) {
        throw Error(ErrorCode::kDataLoss, channel.operation().text,
                    "rank {} announces bucket {} of {}{}, in {} bytes", parent,
                    bucket, buckets_, is_known ? " again" : "", bytes);
      }
      Transfers told(channel);
      tell_children(channel, bucket, told);
      announced_.push_back(bucket);
      changed_.notify_all();
      co_await told.all();
    }
  } catch (...) {
    // Those that wait for their turn must hear of a bad announcement, too.
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace weft
