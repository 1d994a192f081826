#include "weft/comm/collective/steady_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "weft/comm/codec/bytes.h"

namespace weft {
namespace {

constexpr double kLeastBytes = 32 << 20;  // buckets are smaller, mostly
constexpr double kSteady = 0.05;          // what windows may differ by
constexpr std::byte kGoesOn{1};
constexpr std::byte kIsLast{2};

// Tells all ranks what the first one has.
Task<std::size_t> tell(Channel channel, Circle circle, std::size_t number) {
  const auto bytes = std::as_writable_bytes(std::span(&number, 1));
  const bool is_first = channel.rank() == 0;
  for (const bool sends : {is_first, !is_first}) {
    Transfer transfer =
        sends ? channel.send(circle.behind(channel.rank(), 1), bytes)
              : channel.receive(circle.behind(channel.rank(), -1), bytes);
    co_await transfer;
  }
  co_return number;
}

// Two slots: one is received into while the other is sent on.
class Slots {
 public:
  explicit Slots(std::size_t bytes) : bytes_(2 * bytes), size_(bytes) {}
  std::span<std::byte> operator[](std::size_t i) {
    return {bytes_.data() + i % 2 * size_, size_};
  }

 private:
  Bytes bytes_;
  std::size_t size_;
};

// Sends on what comes, up to the segment that says so.
Task<> forward(Channel channel, Circle circle, std::size_t segment) {
  const int next = circle.behind(channel.rank(), 1);
  const int before = circle.behind(channel.rank(), -1);
  Slots slots(segment);
  Transfers received(channel);
  Transfers sent(channel);
  received.receive(before, slots[0]);
  for (std::size_t i = 0;; ++i) {
    Transfer& arrival = received[i];
    co_await arrival;
    sent.send(next, slots[i]);
    if (slots[i][0] == kIsLast) break;
    // Its slot is free when the segment before has been sent.
    if (i > 0) {
      Transfer& earlier = sent[i - 1];
      co_await earlier;
    }
    received.receive(before, slots[i + 1]);
  }
  co_await sent.all();
}

// Windows of arrivals, each twice as long as the one before.
class Windows {
 public:
  explicit Windows(double now) : began_(now) {}

  // True when a window has ended that is like the one before.
  bool count(std::size_t bytes, double now) {
    bytes_ += static_cast<double>(bytes);
    if (++arrived_ < length_) return false;
    const double last = std::exchange(rate_, (now - began_) / bytes_);
    total_ += std::exchange(bytes_, 0);
    began_ = now;
    arrived_ = 0;
    length_ *= 2;
    return total_ >= kLeastBytes && std::abs(rate_ / last - 1) < kSteady;
  }
  // Seconds per byte of the last whole window.
  double rate() const { return rate_; }

 private:
  double began_;
  double bytes_ = 0;
  double total_ = 0;
  double rate_ = 0;
  std::size_t arrived_ = 0;
  std::size_t length_ = 4;
};

// The first rank of the circle: keeps all cards in use, and decides when it is
// enough.
Task<double> lead(Channel channel, Circle circle, std::size_t segment,
                  double most_seconds) {
  const Transport& transport = channel.transport();
  const int next = circle.behind(channel.rank(), 1);
  const int before = circle.behind(channel.rank(), -1);
  Bytes more(segment, kGoesOn);
  Bytes enough(segment, kIsLast);
  Slots slots(segment);
  Transfers received(channel);
  Transfers sent(channel);
  std::size_t under_way = 2 * static_cast<std::size_t>(circle.size);
  for (std::size_t i = 0; i < under_way; ++i) sent.send(next, more);
  const double start = transport.now();
  std::optional<Windows> windows;  // from the first arrival on
  bool is_enough = false;
  for (std::size_t i = 0; under_way > 0; ++i) {
    received.receive(before, slots[i]);
    Transfer& arrival = received[i];
    co_await arrival;
    --under_way;
    // What is still under way when it is enough only has to come in.
    if (is_enough) continue;
    const double now = transport.now();
    is_enough = now - start > most_seconds;
    if (windows) {
      is_enough |= windows->count(segment, now);
    } else {
      windows.emplace(now);
    }
    sent.send(next, is_enough ? enough : more);
    ++under_way;
  }
  co_await sent.all();
  co_return windows->rate();
}

}  // namespace

Task<double> steady_seconds_per_byte(Channel channel, Circle circle,
                                     std::size_t segment, double most_seconds) {
  segment = co_await tell(channel, circle, segment);
  if (segment == 0) co_return 0;
  if (channel.rank() == 0) {
    co_return co_await lead(channel, circle, segment, most_seconds);
  }
  co_await forward(channel, circle, segment);
  co_return 0;
}

}  // namespace weft
