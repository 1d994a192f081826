#include "weft/comm/tcp/link.h"

namespace weft::tcp {
namespace {

// How much is written ahead of the socket: what is urgent waits behind no more
// than this and what the system holds (socket.cpp).
constexpr std::size_t kAhead = std::size_t{64} << 10;
// Calls of the system for one link before others have their turn.
constexpr int kReads = 8;

}  // namespace

Link::Link(Connection connection)
    : connection_(std::move(connection)), inbox_(outbox_) {}

template <class Body>
void Link::guard(Body&& body) {
  if (is_broken()) return;
  try {
    body();
  } catch (const Error& error) {
    reason_ = error;
  }
}

void Link::start(Transfer& transfer, News& news) {
  if (transfer.kind() == Transfer::Kind::kReceive) {
    if (auto outcome = inbox_.receive(transfer)) {
      news.outcomes.push_back(std::move(*outcome));
    } else if (has_ended_) {
      inbox_.forget(transfer);
      fail(transfer, news);
    }
    write(news);  // a grant, or credit
    return;
  }
  if (has_ended_) {
    fail(transfer, news);
    return;
  }
  // Where bytes wait already, the socket is full.
  const bool is_idle = !wants_to_write();
  outbox_.start(transfer);
  if (is_idle) write(news);
}

void Link::forget(const Transfer& transfer) {
  if (transfer.kind() == Transfer::Kind::kReceive) {
    inbox_.forget(transfer);
  } else {
    outbox_.forget(transfer);
  }
}

void Link::send_notice(const Notice& notice, News& news) {
  if (is_broken()) return;
  outbox_.notice(notice);
  write(news);
}

void Link::say_sent(const Datagrams::Sent& sent, News& news) {
  if (is_broken()) return;
  outbox_.sent(sent.tag, sent.message);
  write(news);
}

void Link::write(News& news) {
  try {
    while (wants_to_write()) {
      write_ahead(news);
      const std::size_t sent =
          connection_.socket.send(std::span(out_).subspan(sent_));
      if (sent == 0) return;
      sent_ += sent;
      if (sent_ < kAhead && sent_ < out_.size()) continue;
      out_.erase(out_.begin(),
                 out_.begin() + static_cast<std::ptrdiff_t>(sent_));
      sent_ = 0;
    }
  } catch (const Error&) {
    // Reading finds the connection broken as well, but behind what the other
    // side had to say.
    can_write_ = false;
  }
}

void Link::write_ahead(News& news) {
  while (out_.size() - sent_ < kAhead && !outbox_.is_empty()) {
    Transfer* const over = outbox_.write_next(connection_.writer, out_);
    if (over != nullptr) news.outcomes.push_back({over, over->bytes()});
  }
}

void Link::read(News& news) {
  const std::size_t before = news.notices.size();
  guard([&] {
    // Records may be there that came with the last bytes of the handshake.
    take_records(news);
    for (int i = 0; i < kReads && news.notices.size() == before; ++i) {
      const std::size_t came =
          connection_.socket.receive(connection_.reader.room());
      if (came == 0) break;
      connection_.reader.came(came);
      take_records(news);
    }
  });
  write(news);  // answers to what has come
}

void Link::take_records(News& news) {
  while (const auto frame = connection_.reader.next()) take(*frame, news);
}

void Link::take(const Frame& frame, News& news) {
  switch (frame.kind) {
    case Frame::Kind::kGrant:
      outbox_.granted(frame.id);
      return;
    case Frame::Kind::kCredit:
      outbox_.credited(frame.bytes);
      return;
    case Frame::Kind::kNotice:
      news.notices.push_back(
          {static_cast<Notice::Kind>(frame.id),
           rank(),
           {reinterpret_cast<const char*>(frame.payload.data()),
            frame.payload.size()}});
      return;
    case Frame::Kind::kSent:
      news.sent.push_back({rank(), frame.tag, frame.id});
      return;
    default:
      if (auto outcome = inbox_.take(frame)) {
        news.outcomes.push_back(std::move(*outcome));
      }
  }
}

void Link::end(News& news) {
  has_ended_ = true;
  for (Transfer* each : outbox_.take_all()) fail(*each, news);
  for (Transfer* each : inbox_.end()) fail(*each, news);
}

void Link::fail(Transfer& transfer, News& news) const {
  Error error(reason_->code(), fmt::format("rank {}", rank()), "is lost: {}",
              reason_->message());
  error.detail(describe(transfer));
  news.outcomes.push_back({&transfer, 0, std::move(error)});
}

bool Link::drain() {
  guard([&] {
    while (connection_.socket.receive(connection_.reader.drop_all()) > 0) {
    }
  });
  return !is_broken();
}

}  // namespace weft::tcp
