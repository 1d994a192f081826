#include "weft/comm/graph/network_peers.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

constexpr std::int32_t kOver = -1;

// What every message begins with; the value follows, if it is small.
struct Header {
  std::int32_t crossing = kOver;
  ActivationTag activation = {};
};
// The header is what travels: padding would send bytes that nobody has written.
static_assert(sizeof(Header) == 20);

std::vector<std::byte> message_of(const Header& header,
                                  std::span<const std::byte> value) {
  std::vector<std::byte> message(sizeof(header) + value.size());
  std::memcpy(message.data(), &header, sizeof(header));
  if (!value.empty()) {
    std::memcpy(message.data() + sizeof(header), value.data(), value.size());
  }
  return message;
}

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.raw()), tensor.bytes()};
}

// FNV-1a: ranks that have cut different graphs are told so.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) {
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211u;
  }
  return hash;
}

// A value follows its header with nothing in between, whatever else is sent.
Task<> send_value(Channel channel, int to, std::span<const std::byte> header,
                  std::span<const std::byte> value) {
  Transfer first = channel.send(to, header);
  if (!value.empty()) {
    Transfer second = channel.send(to, value);
    co_await second;
  }
  co_await first;
}

OperationInfo operation_of(const FlatGraph& graph) {
  std::string crossings;
  for (const Crossing& crossing : graph.crossings) {
    crossings +=
        fmt::format("{} {} {}\n", crossing.from, crossing.to, crossing.value);
  }
  return {fmt::format("run of @{}", graph.body(0).name),
          fmt::format("{} crossings {:016x}", graph.crossings.size(),
                      hash_of(crossings))};
}

}  // namespace

NetworkPeers::Outgoing::Outgoing(const Channel& channel, int to, Tensor large)
    : value(std::move(large)), transfer(channel.send(to, bytes_of(value))) {}

NetworkPeers::~NetworkPeers() {
  if (listening_ == nullptr) return;
  // The listeners refer to this, so they must come to their end.
  fail(Error(ErrorCode::kCancelled, fmt::format("rank {}", rank()),
             "left in the middle of a run"));
}

void NetworkPeers::begin_run(const FlatGraph& graph) {
  graph_ = &graph;
  // A run that failed may have left what came for it.
  came_.clear();
  unsent_.clear();
  queued_.clear();
  turns_.clear();
  for (int peer = 0; peer < size(); ++peer) {
    turns_.emplace_back(engine_.transport(), kUnderWay);
  }
  traffic_ = {};
  began_ = engine_.transport().now();
  // Each run is an operation: ranks that run different graphs, or cuts of it,
  // find out here.
  channel_ = communicator_.open(operation_of(graph));
  listening_ = engine_.start(listen_to_all());
}

Task<> NetworkPeers::listen_to_all() {
  std::vector<Task<>> listeners;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank()) listeners.push_back(listen(peer));
  }
  co_await all_of(std::move(listeners));
}

Task<> NetworkPeers::listen(int from) {
  const Channel channel = *channel_;
  // One room per peer will do: messages of one rank come in their order, and
  // each is taken out before the next is asked for.
  std::vector<std::byte> room(sizeof(Header) + kMostInline);
  for (;;) {
    const std::size_t bytes = co_await channel.receive(from, room);
    Header header;
    if (bytes < sizeof(header)) {
      throw Error(ErrorCode::kDataLoss, channel.operation().text,
                  "rank {} sends a message of {} bytes, which says nothing",
                  from, bytes);
    }
    std::memcpy(&header, room.data(), sizeof(header));
    if (header.crossing == kOver) co_return;
    Parcel parcel = parcel_of(from, std::span(room).first(bytes));
    if (parcel.value.bytes() > kMostInline) {
      // A large value follows by itself, straight to its place.
      co_await channel.receive(from, bytes_of(parcel.value));
    }
    ++traffic_.values;
    traffic_.bytes += static_cast<double>(parcel.value.bytes());
    came_.push_back(std::move(parcel));
  }
}

Tensor NetworkPeers::room_for(const Crossing& crossing) const {
  const auto argument = static_cast<std::size_t>(crossing.argument);
  const bool is_given = crossing.argument >= 0 && argument < rooms_.size() &&
                        rooms_[argument].is_defined();
  return is_given ? rooms_[argument] : Tensor::empty(crossing.type);
}

// The parcel has its value, unless that comes by itself.
Parcel NetworkPeers::parcel_of(int from,
                               std::span<const std::byte> message) const {
  Header header;
  std::memcpy(&header, message.data(), sizeof(header));
  const auto index = static_cast<std::size_t>(header.crossing);
  const bool exists = header.crossing >= 0 && index < graph_->crossings.size();
  if (!exists || graph_->crossings[index].from != from ||
      graph_->crossings[index].to != rank()) {
    throw Error(ErrorCode::kDataLoss, channel_->operation().text,
                "rank {} sends what does not cross from there to here", from);
  }
  // The type is this rank's own, so no message can ask for memory.
  Tensor value = room_for(graph_->crossings[index]);
  const auto follows = message.subspan(sizeof(header));
  const bool is_inline = value.bytes() <= kMostInline;
  if (follows.size() != (is_inline ? value.bytes() : 0)) {
    throw Error(ErrorCode::kDataLoss, channel_->operation().text,
                "rank {} sends {} bytes for {} of {} bytes", from,
                follows.size(), graph_->crossings[index].value, value.bytes());
  }
  if (!follows.empty())
    std::memcpy(value.raw(), follows.data(), follows.size());
  return {header.activation, header.crossing, std::move(value)};
}

void NetworkPeers::send(Parcel parcel) {
  const Crossing& crossing =
      graph_->crossings[static_cast<std::size_t>(parcel.crossing)];
  if (!places_.empty()) {
    // All arguments are there at once, and so the first of them is not begun
    // before it is known which that is.
    const bool is_argument = crossing.argument >= 0;
    is_argument ? unsent_.push_back(std::move(parcel))
                : queue(std::move(parcel));
    return;
  }
  const Header header{parcel.crossing, parcel.activation};
  if (parcel.value.bytes() <= kMostInline) {
    outgoing_.emplace_back(*channel_, crossing.to,
                           message_of(header, bytes_of(parcel.value)));
  } else {
    outgoing_.emplace_back(*channel_, crossing.to, message_of(header, {}));
    outgoing_.emplace_back(*channel_, crossing.to, std::move(parcel.value));
  }
  forget_sent();
}

void NetworkPeers::hand_over() {
  std::ranges::stable_sort(unsent_, {}, [&](const Parcel& parcel) {
    return places_[static_cast<std::size_t>(parcel.crossing)];
  });
  for (Parcel& parcel : unsent_) queue(std::move(parcel));
  unsent_.clear();
}

void NetworkPeers::queue(Parcel parcel) {
  const auto index = static_cast<std::size_t>(parcel.crossing);
  const Header header{parcel.crossing, parcel.activation};
  const int to = graph_->crossings[index].to;
  if (parcel.value.bytes() <= kMostInline) {
    queue(to, places_[index], message_of(header, bytes_of(parcel.value)));
  } else {
    queue(to, places_[index], message_of(header, {}), std::move(parcel.value));
  }
}

void NetworkPeers::queue(int to, std::size_t place,
                         std::vector<std::byte> header, Tensor value) {
  Queued& queued = queued_.emplace_back(
      Queued{std::move(header), std::move(value), nullptr});
  const auto follows = queued.value.is_defined() ? bytes_of(queued.value)
                                                 : std::span<std::byte>();
  queued.sending = engine_.start(turns_[static_cast<std::size_t>(to)].pass(
      -static_cast<int>(place), queued.header.size() + follows.size(),
      send_value(*channel_, to, queued.header, follows)));
}

// Goes from the oldest on, as far as sends are over. Throws what failed one.
void NetworkPeers::forget_sent() {
  // One that is over behind one that is not only stays in memory for a while.
  while (!outgoing_.empty() && outgoing_.front().transfer.await_ready()) {
    outgoing_.front().transfer.await_resume();
    outgoing_.pop_front();
  }
  while (!queued_.empty() && queued_.front().sending->is_done()) {
    engine_.wait(queued_.front().sending);
    queued_.pop_front();
  }
}

void NetworkPeers::poll(double seconds, std::vector<Parcel>& parcels) {
  // What has come is given out before more is waited for.
  hand_over();
  if (came_.empty()) engine_.poll(seconds);
  if (listening_->is_done() && listening_->failure()) {
    engine_.wait(listening_);  // throws it
  }
  forget_sent();
  for (Parcel& parcel : came_) parcels.push_back(std::move(parcel));
  came_.clear();
}

void NetworkPeers::end_run() {
  traffic_.seconds = engine_.transport().now() - began_;
  hand_over();
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    // Messages keep their order, so a rank that reads this has all that was
    // sent before; of those that wait for their turn it is the last.
    if (places_.empty()) {
      outgoing_.emplace_back(*channel_, peer, message_of({}, {}));
    } else {
      queue(peer, graph_->crossings.size(), message_of({}, {}));
    }
  }
  engine_.wait(listening_);
  forget_sent();
  // Sends refer to values of this run, which may go only when these are over.
  while (!outgoing_.empty() || !queued_.empty()) {
    engine_.poll(kPollSeconds);
    forget_sent();
  }
  listening_ = nullptr;
}

void NetworkPeers::fail(const Error& error) noexcept {
  // The engine ends all transfers first, which refer to the values that go
  // next.
  engine_.fail(error);
  outgoing_.clear();
  queued_.clear();
  listening_ = nullptr;
}

}  // namespace weft
