#include "weft/comm/transport/neighbour.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

PacketHeader header_of(const Transfer& transfer, bool is_announcement) {
  return {transfer.route().tag, is_announcement ? 1u : 0u, transfer.bytes()};
}

std::span<const std::byte> message_of(const Transfer* transfer) {
  if (transfer == nullptr) return {};
  return {transfer->data(), transfer->bytes()};
}

}  // namespace

std::optional<Neighbour::Outcome> Neighbour::send(Transfer& transfer) {
  const PacketHeader header = header_of(transfer, false);
  // Nothing overtakes what waits for room: order holds per tag.
  if (queue_.empty() && out_.write(header, message_of(&transfer))) {
    return Outcome{&transfer, header.bytes, false};
  }
  queue_.push_back({header, &transfer});
  return std::nullopt;
}

void Neighbour::announce(const Transfer& transfer) {
  const PacketHeader header = header_of(transfer, true);
  if (queue_.empty() && out_.write(header, {})) return;
  queue_.push_back({header, nullptr});
}

std::optional<Neighbour::Outcome> Neighbour::send_queued() {
  while (!queue_.empty()) {
    const Queued first = queue_.front();
    if (!out_.write(first.header, message_of(first.transfer))) break;
    queue_.pop_front();
    if (first.transfer != nullptr) {
      return Outcome{first.transfer, first.header.bytes, false};
    }
  }
  return std::nullopt;
}

std::optional<Neighbour::Outcome> Neighbour::receive(Transfer& transfer) {
  const Tag tag = transfer.route().tag;
  // What was put aside came before anything that is in the pipe.
  const auto found =
      std::find_if(aside_.begin(), aside_.end(),
                   [&](const PutAside& p) { return p.header.tag == tag; });
  if (found != aside_.end()) {
    const Outcome outcome{&transfer, found->header.bytes,
                          found->header.is_announcement != 0};
    if (!found->message.empty() && outcome.bytes <= transfer.bytes()) {
      if (transfer.fold() != nullptr) {
        transfer.fold()(found->message.data(), transfer.data(), outcome.bytes);
      } else {
        std::memcpy(transfer.data(), found->message.data(), outcome.bytes);
      }
    }
    aside_.erase(found);
    return outcome;
  }
  // Where others wait, the next packet may be for an older receive of this tag;
  // move() asks the oldest first.
  if (waiting_.empty()) {
    const auto header = in_.next();
    if (header && header->tag == tag) return take_next(*header, transfer);
  }
  waiting_.push_back(&transfer);
  return std::nullopt;
}

std::optional<Neighbour::Outcome> Neighbour::move() {
  if (auto sent = send_queued()) return sent;
  while (!waiting_.empty()) {
    const auto header = in_.next();
    if (!header) break;
    // Receives are asked in the order in which they began, so messages of one
    // tag are taken in theirs.
    const auto found = std::find_if(
        waiting_.begin(), waiting_.end(),
        [&](const Transfer* t) { return t->route().tag == header->tag; });
    if (found != waiting_.end()) {
      Transfer& transfer = **found;
      waiting_.erase(found);
      return take_next(*header, transfer);
    }
    // Nobody waits for this one, but somebody for what may be behind it.
    auto& message = aside_.emplace_back(PutAside{*header, {}}).message;
    // An announcement has no message here: its bytes travel another way.
    if (header->is_announcement == 0) message.resize(header->bytes);
    in_.take(*header, message);
  }
  return std::nullopt;
}

Neighbour::Outcome Neighbour::take_next(const PacketHeader& header,
                                        Transfer& transfer) {
  const Outcome outcome{&transfer, header.bytes, header.is_announcement != 0};
  const bool is_copied =
      !outcome.is_announcement && outcome.bytes <= transfer.bytes();
  // A message that is too long is taken out all the same, so that those behind
  // it can come; its receive then fails.
  in_.take(header, {transfer.data(), is_copied ? outcome.bytes : 0},
           transfer.fold());
  return outcome;
}

bool Neighbour::forget(const Transfer& transfer) noexcept {
  return std::erase(waiting_, &transfer) > 0 ||
         std::erase_if(queue_, [&](const Queued& queued) {
           return queued.transfer == &transfer;
         }) > 0;
}

}  // namespace weft
