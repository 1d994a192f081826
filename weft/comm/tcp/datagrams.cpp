#include "weft/comm/tcp/datagrams.h"

#include <algorithm>

namespace weft::tcp {
namespace {

// Datagrams that are read before anybody else has his turn.
constexpr int kDatagramsAtOnce = 256;
// Datagrams that are sent without a pause after one that took too long.
constexpr double kMostAtOnce = 16;

}  // namespace

Datagrams::Datagrams(DatagramSocket socket, int rank, std::vector<Peer> peers,
                     const DatagramTimes& times)
    : socket_(std::move(socket)),
      sides_(peers.size() + 1),
      pause_(times.pause),
      room_(kMostDatagram + 1) {
  for (const Peer& peer : peers) {
    const auto key = [&](SealKey DatagramKeys::*which) {
      return peer.keys ? std::optional((*peer.keys).*which) : std::nullopt;
    };
    sides_[static_cast<std::size_t>(peer.rank)].emplace(
        Side{peer.address,
             {static_cast<std::uint32_t>(rank), key(&DatagramKeys::own)},
             DatagramOpener(key(&DatagramKeys::other)),
             LossyInbox(times.silence)});
  }
}

void Datagrams::start(Transfer& transfer, double now,
                      std::vector<Outcome>& over) {
  const Transfer::Route& route = transfer.route();
  if (transfer.kind() == Transfer::Kind::kReceive) {
    side(route.peer).inbox.receive(transfer, now, over);
    return;
  }
  outgoing_.emplace(Turn{-route.priority, number_++},
                    Outgoing{&transfer, side(route.peer).sent[route.tag]++});
}

void Datagrams::forget(const Transfer& transfer) {
  if (transfer.kind() == Transfer::Kind::kReceive) {
    side(transfer.route().peer).inbox.forget(transfer);
    return;
  }
  std::erase_if(outgoing_, [&](const auto& entry) {
    return entry.second.transfer == &transfer;
  });
}

void Datagrams::write(double now, std::vector<Outcome>& over,
                      std::vector<Sent>& sent) {
  now_ = now;
  is_full_ = false;
  // Pauses that were slept through are made up for, but not all at once.
  may_send_at_ = std::max(may_send_at_, now - kMostAtOnce * pause_);
  while (!outgoing_.empty()) {
    const auto first = outgoing_.begin();
    Outgoing& outgoing = first->second;
    if (!send_parts(outgoing)) return;
    Transfer& transfer = *outgoing.transfer;
    sent.push_back(
        {transfer.route().peer, transfer.route().tag, outgoing.message});
    over.push_back({.transfer = &transfer, .bytes = transfer.bytes()});
    outgoing_.erase(first);
  }
}

bool Datagrams::send_parts(Outgoing& outgoing) {
  const Transfer& transfer = *outgoing.transfer;
  PartMap parts;
  parts.reset(transfer.bytes());
  Side& to = side(transfer.route().peer);
  for (; outgoing.next_part < parts.parts(); ++outgoing.next_part) {
    if (may_send_at_ > now_) return false;
    const std::size_t part = outgoing.next_part;
    to.sealer.seal(
        {.tag = transfer.route().tag,
         .message = outgoing.message,
         .part = static_cast<std::uint32_t>(part),
         .bytes = transfer.bytes(),
         .payload = {transfer.data() + parts.begin(part), parts.size(part)}},
        sealed_);
    // One that is refused is sealed anew when its turn comes again.
    is_full_ = !socket_.send(to.address, sealed_);
    if (is_full_) return false;
    may_send_at_ += pause_;
  }
  return true;
}

void Datagrams::read(double now, std::vector<Outcome>& over) {
  for (int i = 0; i < kDatagramsAtOnce; ++i) {
    const std::size_t bytes = socket_.receive(room_);
    if (bytes == 0) return;
    const auto came = std::span(room_).first(bytes);
    const auto sender = sender_of(came);
    if (!sender || *sender >= sides_.size() || !sides_[*sender]) continue;
    Side& from = *sides_[*sender];
    if (const auto datagram = from.opener.open(came)) {
      from.inbox.take(*datagram, now, over);
    }
  }
}

void Datagrams::sender_is_done(const Sent& sent, double now,
                               std::vector<Outcome>& over) {
  side(sent.peer).inbox.sender_is_done(sent.tag, sent.message, now, over);
}

void Datagrams::expire(double now, std::vector<Outcome>& over) {
  for (auto& each : sides_) {
    if (each) each->inbox.expire(now, over);
  }
}

double Datagrams::next_moment() const {
  double next = std::numeric_limits<double>::infinity();
  if (!outgoing_.empty() && !is_full_) next = may_send_at_;
  for (const auto& each : sides_) {
    if (each) next = std::min(next, each->inbox.next_expiry());
  }
  return next;
}

pollfd Datagrams::wanted() const {
  const int events = is_full_ ? POLLIN | POLLOUT : POLLIN;
  return {socket_.get(), static_cast<short>(events), 0};
}

std::vector<Transfer*> Datagrams::end(int peer) {
  std::vector<Transfer*> left = side(peer).inbox.end();
  std::erase_if(outgoing_, [&](const auto& entry) {
    Transfer* const transfer = entry.second.transfer;
    if (transfer->route().peer != peer) return false;
    left.push_back(transfer);
    return true;
  });
  return left;
}

}  // namespace weft::tcp
