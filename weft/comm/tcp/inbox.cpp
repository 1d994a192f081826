#include "weft/comm/tcp/inbox.h"

#include <algorithm>

namespace weft::tcp {
namespace {

// What waits to be granted costs its receiver a little, and its sender a
// message: more of them than this are no program's.
constexpr std::size_t kMostAnnounced = std::size_t{1} << 20;

Error misplaced(std::string_view what) {
  return Error(ErrorCode::kDataLoss, "frame", "it sent a frame that {}", what);
}

}  // namespace

Outcome copied(Transfer& transfer, std::span<const std::byte> message) {
  if (message.size() > transfer.bytes()) {
    return {&transfer, 0, too_long(transfer, message.size())};
  }
  if (!message.empty()) {
    std::memcpy(transfer.data(), message.data(), message.size());
  }
  return {&transfer, message.size()};
}

std::optional<Outcome> Inbox::receive(Transfer& transfer) {
  const Tag tag = transfer.route().tag;
  Flow& flow = flows_[tag];
  if (flow.arrivals.empty()) {
    flow.waiting.push_back(&transfer);
    return std::nullopt;
  }
  const Arrival arrival = std::move(flow.arrivals.front());
  flow.arrivals.pop_front();
  if (flow.arrivals.empty()) flows_.erase(tag);
  if (arrival.announced) {
    --announced_;
    return begin(*arrival.announced, arrival.bytes, transfer);
  }
  kept_ -= arrival.message.size() + kMessageCost;
  give_back(arrival.message.size());
  return copied(transfer, arrival.message);
}

std::optional<Outcome> Inbox::take(const Frame& frame) {
  switch (frame.kind) {
    case Frame::Kind::kMessage:
      return take_message(frame);
    case Frame::Kind::kAnnounce:
      return take_announced(frame);
    case Frame::Kind::kPart:
      return take_part(frame);
    case Frame::Kind::kWithdraw:
      return withdraw(frame);
    default:
      throw misplaced("is of a kind that is not due here");
  }
}

std::optional<Outcome> Inbox::take_message(const Frame& frame) {
  if (Transfer* const transfer = take_waiting(frame.tag)) {
    give_back(frame.payload.size());
    return copied(*transfer, frame.payload);
  }
  kept_ += frame.payload.size() + kMessageCost;
  if (kept_ > kWindow)
    throw misplaced("is more than its sender had credit for");
  flows_[frame.tag].arrivals.push_back(
      {.message = {frame.payload.begin(), frame.payload.end()}});
  return std::nullopt;
}

std::optional<Outcome> Inbox::take_announced(const Frame& frame) {
  if (coming_.contains(frame.id)) throw misplaced("announces a message twice");
  if (Transfer* const transfer = take_waiting(frame.tag)) {
    return begin(frame.id, frame.bytes, *transfer);
  }
  if (++announced_ > kMostAnnounced) {
    throw misplaced("announces more messages than any program sends");
  }
  flows_[frame.tag].arrivals.push_back(
      {.message = {}, .announced = frame.id, .bytes = frame.bytes});
  return std::nullopt;
}

std::optional<Outcome> Inbox::begin(std::uint32_t id, std::uint64_t bytes,
                                    Transfer& transfer) {
  answers_->grant(id);
  if (bytes > transfer.bytes()) {
    // The message comes all the same, for its sender waits to be rid of it.
    coming_[id] = {.bytes = bytes};
    return Outcome{&transfer, 0, too_long(transfer, bytes)};
  }
  if (bytes == 0) return Outcome{&transfer, 0};
  coming_[id] = {.transfer = &transfer, .bytes = bytes};
  return std::nullopt;
}

std::optional<Outcome> Inbox::take_part(const Frame& frame) {
  const auto found = coming_.find(frame.id);
  if (found == coming_.end()) throw misplaced("is a part that nobody granted");
  Coming& coming = found->second;
  if (frame.payload.size() > coming.bytes - coming.came) {
    throw misplaced("is a part beyond the end of its message");
  }
  if (coming.transfer != nullptr) {
    std::memcpy(coming.transfer->data() + coming.came, frame.payload.data(),
                frame.payload.size());
  }
  coming.came += frame.payload.size();
  if (coming.came < coming.bytes) return std::nullopt;
  const Coming whole = coming;
  coming_.erase(found);
  if (whole.transfer == nullptr) return std::nullopt;
  return Outcome{whole.transfer, static_cast<std::size_t>(whole.bytes)};
}

std::optional<Outcome> Inbox::withdraw(const Frame& frame) {
  if (const auto found = coming_.find(frame.id); found != coming_.end()) {
    Transfer* const transfer = found->second.transfer;
    coming_.erase(found);
    if (transfer == nullptr) return std::nullopt;
    Error error(ErrorCode::kCancelled,
                fmt::format("rank {}", transfer->route().peer),
                "took back what it was sending");
    error.detail(describe(*transfer));
    return Outcome{transfer, 0, std::move(error)};
  }
  const auto flow = flows_.find(frame.tag);
  // A message of no bytes was over as it was announced.
  if (flow == flows_.end()) return std::nullopt;
  announced_ -= std::erase_if(flow->second.arrivals, [&](const Arrival& a) {
    return a.announced == frame.id;
  });
  if (flow->second.arrivals.empty() && flow->second.waiting.empty()) {
    flows_.erase(flow);
  }
  return std::nullopt;
}

Transfer* Inbox::take_waiting(Tag tag) {
  const auto found = flows_.find(tag);
  if (found == flows_.end() || found->second.waiting.empty()) return nullptr;
  Transfer* const first = found->second.waiting.front();
  found->second.waiting.pop_front();
  if (found->second.waiting.empty()) flows_.erase(found);
  return first;
}

void Inbox::forget(const Transfer& transfer) {
  for (auto& [id, coming] : coming_) {
    if (coming.transfer == &transfer) coming.transfer = nullptr;
  }
  const auto flow = flows_.find(transfer.route().tag);
  if (flow == flows_.end()) return;
  std::erase(flow->second.waiting, &transfer);
  if (flow->second.waiting.empty() && flow->second.arrivals.empty()) {
    flows_.erase(flow);
  }
}

std::vector<Transfer*> Inbox::end() {
  std::vector<Transfer*> left;
  for (const auto& [id, coming] : coming_) {
    if (coming.transfer != nullptr) left.push_back(coming.transfer);
  }
  coming_.clear();
  for (auto& [tag, flow] : flows_) {
    left.insert(left.end(), flow.waiting.begin(), flow.waiting.end());
    flow.waiting.clear();
    // What is behind a message that will not come would be taken for it.
    const auto first = std::ranges::find_if(
        flow.arrivals,
        [](const Arrival& a) { return a.announced.has_value(); });
    flow.arrivals.erase(first, flow.arrivals.end());
  }
  std::erase_if(flows_,
                [](const auto& flow) { return flow.second.arrivals.empty(); });
  return left;
}

// In large pieces, as each answer is a frame of its own.
void Inbox::give_back(std::size_t bytes) {
  taken_ += bytes + kMessageCost;
  if (taken_ < kWindow / 4) return;
  answers_->credit(taken_);
  taken_ = 0;
}

}  // namespace weft::tcp
