#include "weft/comm/tcp/outbox.h"

#include <algorithm>

namespace weft::tcp {
namespace {

Error wrong_answer(std::string_view what) {
  return Error(ErrorCode::kDataLoss, "frame", "it sent a frame that {}", what);
}

std::span<const std::byte> payload_of(const Transfer& transfer) {
  return {transfer.data(), transfer.bytes()};
}

}  // namespace

void Outbox::start(Transfer& transfer) {
  const Transfer::Route& route = transfer.route();
  Message message{.transfer = &transfer, .turn = {route.priority, number_++}};
  const auto found = flows_.find(route.tag);
  if (found == flows_.end() && transfer.bytes() > kMostPart) {
    // Asked for at once, so that the answer is there when its turn comes.
    announce(message);
    return;
  }
  Flow& flow = flows_[route.tag];
  // An urgent message of a tag whose older ones are not waits with them.
  if (flow.count > 0) {
    message.turn.priority = std::min(route.priority, flow.priority);
  }
  ++flow.count;
  flow.priority = message.turn.priority;
  ready_.emplace(message.turn, message);
}

void Outbox::announce(Message message) {
  message.id = next_id_++;
  answers_.push_back({.kind = Frame::Kind::kAnnounce,
                      .tag = message.transfer->route().tag,
                      .id = message.id,
                      .bytes = message.transfer->bytes()});
  announced_.emplace(message.id, message);
}

void Outbox::leaves(Tag tag) {
  const auto flow = flows_.find(tag);
  if (--flow->second.count == 0) flows_.erase(flow);
}

void Outbox::forget(const Transfer& transfer) {
  const auto is_it = [&](const auto& entry) {
    return entry.second.transfer == &transfer;
  };
  const auto withdraw = [&](std::uint32_t id) {
    answers_.push_back({.kind = Frame::Kind::kWithdraw,
                        .tag = transfer.route().tag,
                        .id = id});
  };
  if (const auto found = std::ranges::find_if(announced_, is_it);
      found != announced_.end()) {
    withdraw(found->first);
    announced_.erase(found);
    return;
  }
  const auto found = std::ranges::find_if(ready_, is_it);
  if (found == ready_.end()) return;
  if (found->second.is_granted) {
    withdraw(found->second.id);
  } else {
    leaves(transfer.route().tag);
  }
  ready_.erase(found);
}

std::vector<Transfer*> Outbox::take_all() {
  std::vector<Transfer*> all;
  for (const auto& [turn, message] : ready_) all.push_back(message.transfer);
  for (const auto& [id, message] : announced_) all.push_back(message.transfer);
  ready_.clear();
  announced_.clear();
  flows_.clear();
  notices_.clear();
  answers_.clear();
  return all;
}

void Outbox::notice(const Notice& notice) {
  notices_.push_back(
      {notice.kind, notice.from, notice.text.substr(0, kMostNoticeBytes)});
}

void Outbox::grant(std::uint32_t id) {
  answers_.push_back({.kind = Frame::Kind::kGrant, .id = id});
}

void Outbox::sent(Tag tag, std::uint32_t message) {
  answers_.push_back({.kind = Frame::Kind::kSent, .tag = tag, .id = message});
}

void Outbox::credit(std::size_t bytes) {
  answers_.push_back({.kind = Frame::Kind::kCredit, .bytes = bytes});
}

void Outbox::granted(std::uint32_t id) {
  const auto found = announced_.find(id);
  if (found == announced_.end()) {
    if (id >= next_id_) throw wrong_answer("grants what was never announced");
    return;  // it was withdrawn while the grant was on its way
  }
  Message message = found->second;
  announced_.erase(found);
  message.is_granted = true;
  ready_.emplace(message.turn, message);
}

void Outbox::credited(std::uint64_t bytes) {
  if (bytes > kWindow - credit_)
    throw wrong_answer("gives back more than it had");
  credit_ += bytes;
}

Transfer* Outbox::write_next(RecordWriter& records, Bytes& out) {
  if (!notices_.empty()) {
    const Notice& first = notices_.front();
    records.write({.kind = Frame::Kind::kNotice,
                   .id = static_cast<std::uint32_t>(first.kind),
                   .payload = std::as_bytes(std::span(first.text))},
                  out);
    notices_.pop_front();
    return nullptr;
  }
  if (!answers_.empty()) {
    records.write(answers_.front(), out);
    answers_.pop_front();
    return nullptr;
  }
  return write_message(records, out);
}

Transfer* Outbox::write_message(RecordWriter& records, Bytes& out) {
  const auto first = ready_.begin();
  Message& message = first->second;
  Transfer* const transfer = message.transfer;
  if (message.is_granted) {
    Transfer* const over = write_part(message, records, out);
    if (over != nullptr) ready_.erase(first);
    return over;
  }
  const Tag tag = transfer->route().tag;
  leaves(tag);
  const std::size_t cost = transfer->bytes() + kMessageCost;
  if (transfer->bytes() > kMostPart || cost > credit_) {
    // The next frame says so, as answers go first.
    announce(message);
    ready_.erase(first);
    return write_next(records, out);
  }
  credit_ -= cost;
  records.write({.kind = Frame::Kind::kMessage,
                 .tag = tag,
                 .bytes = transfer->bytes(),
                 .payload = payload_of(*transfer)},
                out);
  ready_.erase(first);
  return transfer;
}

Transfer* Outbox::write_part(Message& message, RecordWriter& records,
                             Bytes& out) {
  const auto rest = payload_of(*message.transfer).subspan(message.sent);
  const auto part = rest.first(std::min(rest.size(), kMostPart));
  // A message of no bytes was over for its receiver when it was announced.
  if (!part.empty()) {
    records.write(
        {.kind = Frame::Kind::kPart, .id = message.id, .payload = part}, out);
    message.sent += part.size();
  }
  return part.size() == rest.size() ? message.transfer : nullptr;
}

}  // namespace weft::tcp
