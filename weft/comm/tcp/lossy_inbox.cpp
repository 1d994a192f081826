#include "weft/comm/tcp/lossy_inbox.h"

#include <algorithm>

namespace weft::tcp {
namespace {

// More messages are under way in no program.
constexpr std::size_t kMostMessages = 1 << 16;

}  // namespace

void LossyInbox::receive(Transfer& transfer, double now,
                         std::vector<Outcome>& over) {
  const Tag tag = transfer.route().tag;
  const Key key{tag, received_[tag]++};
  Message& message = messages_[key];
  message.transfer = &transfer;
  for (const Early& each : message.early) {
    kept_ -= each.payload.size() + kMessageCost;
    place({tag, key.second, each.part, each.bytes, each.payload}, message);
  }
  const bool has_begun = !message.early.empty() || message.is_sent;
  message.early = {};
  if (has_begun) message.silent_at = now + silence_;
  look(key, now, over);
}

LossyInbox::Message* LossyInbox::find(Tag tag, std::uint32_t number) {
  const auto found = messages_.find({tag, number});
  if (found != messages_.end()) return &found->second;
  // One that is over, or was given up, is not begun again.
  const auto received = received_.find(tag);
  const std::uint32_t next = received == received_.end() ? 0 : received->second;
  if (number < next || messages_.size() >= kMostMessages) return nullptr;
  return &messages_[{tag, number}];
}

void LossyInbox::take(const Datagram& datagram, double now,
                      std::vector<Outcome>& over) {
  if (datagram.payload.size() > PartMap::kPartBytes) return;
  Message* const message = find(datagram.tag, datagram.message);
  if (message == nullptr) return;
  if (message->transfer == nullptr) {
    if (kept_ + datagram.payload.size() + kMessageCost > kWindow) return;
    kept_ += datagram.payload.size() + kMessageCost;
    message->early.push_back(
        {datagram.part,
         datagram.bytes,
         {datagram.payload.begin(), datagram.payload.end()}});
    return;
  }
  place(datagram, *message);
  message->silent_at = now + silence_;
  look({datagram.tag, datagram.message}, now, over);
}

void LossyInbox::place(const Datagram& datagram, Message& message) const {
  Transfer& transfer = *message.transfer;
  PartMap& came = *transfer.came();
  if (datagram.bytes != transfer.bytes() || datagram.part >= came.parts() ||
      datagram.payload.size() != came.size(datagram.part)) {
    return;
  }
  std::ranges::copy(datagram.payload,
                    transfer.data() + came.begin(datagram.part));
  came.mark(datagram.part);
}

void LossyInbox::look(const Key& key, double now, std::vector<Outcome>& over) {
  const auto found = messages_.find(key);
  Transfer* const transfer = found->second.transfer;
  if (!transfer->came()->is_complete() && found->second.silent_at > now) return;
  over.push_back(
      {.transfer = transfer, .bytes = transfer->bytes(), .is_in_part = true});
  messages_.erase(found);
}

void LossyInbox::sender_is_done(Tag tag, std::uint32_t number, double now,
                                std::vector<Outcome>& over) {
  Message* const message = find(tag, number);
  if (message == nullptr) return;
  message->is_sent = true;
  if (message->transfer == nullptr) return;
  message->silent_at = std::min(message->silent_at, now + silence_);
  look({tag, number}, now, over);
}

void LossyInbox::expire(double now, std::vector<Outcome>& over) {
  std::vector<Key> silent;
  for (const auto& [key, message] : messages_) {
    if (message.silent_at <= now) silent.push_back(key);
  }
  for (const Key& key : silent) look(key, now, over);
}

double LossyInbox::next_expiry() const {
  double next = kNever;
  for (const auto& [key, message] : messages_) {
    next = std::min(next, message.silent_at);
  }
  return next;
}

void LossyInbox::forget(const Transfer& transfer) {
  std::erase_if(messages_, [&](const auto& entry) {
    return entry.second.transfer == &transfer;
  });
}

std::vector<Transfer*> LossyInbox::end() {
  std::vector<Transfer*> left;
  for (const auto& [key, message] : messages_) {
    if (message.transfer != nullptr) left.push_back(message.transfer);
  }
  messages_.clear();
  kept_ = 0;
  return left;
}

}  // namespace weft::tcp
