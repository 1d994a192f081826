#include "weft/comm/tcp/tcp_transport.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace weft::tcp {
namespace {

pollfd wanted_of(const Link& link) {
  const int events = link.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
  return {link.descriptor(), static_cast<short>(events), 0};
}

}  // namespace

TcpTransport::TcpTransport(Company company)
    : rank_(company.rank),
      hosts_(std::move(company.hosts)),
      links_(hosts_.size()),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_ < 0) {
    throw Error(ErrorCode::kExhausted, "tcp", "no descriptor is left");
  }
  std::vector<Datagrams::Peer> peers;
  for (Connection& each : company.connections) {
    const auto rank = static_cast<std::size_t>(each.rank);
    if (company.datagrams) {
      peers.push_back(
          {each.rank, company.datagrams->addresses[rank], each.datagram_keys});
    }
    links_[rank] = std::make_unique<Link>(std::move(each));
  }
  if (company.datagrams) {
    datagrams_.emplace(std::move(company.datagrams->socket), rank_,
                       std::move(peers), company.datagrams->times);
  }
  // Others may have begun, and their first records may have been read with the
  // last bytes of the handshake: the sockets do not tell.
  News news;
  for (const auto& each : links_) {
    if (each) each->read(news);
  }
  // What they say of datagrams is said once.
  if (datagrams_) move_datagrams(0, news);
  is_told_ = !news.notices.empty();
  settle(news);
}

TcpTransport::~TcpTransport() {
  if (!heard_failure_.empty()) pass_failure_on();
  linger();
  ::close(wake_);
}

bool TcpTransport::poll(double seconds) {
  const double until = now() + seconds;
  bool is_over = std::exchange(is_over_, false);
  bool is_told = std::exchange(is_told_, false);
  while (!is_told) {
    News news;
    is_told = move(is_over ? 0 : until - now(), news);
    is_told |= !news.notices.empty();
    is_over |= settle(news);
    if (is_over || now() >= until) break;
  }
  return is_over;
}

bool TcpTransport::move(double seconds, News& news) {
  ready_.assign(1, {wake_, POLLIN, 0});
  polled_.clear();
  for (const auto& each : links_) {
    if (!each || each->has_ended()) continue;
    if (each->is_broken()) {
      seconds = 0;  // it waits to be ended
      continue;
    }
    polled_.push_back(each.get());
    ready_.push_back(wanted_of(*each));
  }
  if (datagrams_) {
    ready_.push_back(datagrams_->wanted());
    seconds = std::min(seconds, datagrams_->next_moment() - now());
  }
  wait_for(ready_, seconds);
  for (std::size_t i = 0; i < polled_.size(); ++i) {
    const short events = ready_[i + 1].revents;
    if ((events & POLLOUT) != 0) polled_[i]->write(news);
    if ((events & ~POLLOUT) != 0) polled_[i]->read(news);
  }
  if (datagrams_) move_datagrams(ready_.back().revents, news);
  end_broken(news);
  return ready_[0].revents != 0 && take_wake();
}

void TcpTransport::move_datagrams(short events, News& news) {
  for (const Datagrams::Sent& sent : std::exchange(news.sent, {})) {
    datagrams_->sender_is_done(sent, now(), news.outcomes);
  }
  if ((events & POLLIN) != 0) datagrams_->read(now(), news.outcomes);
  std::vector<Datagrams::Sent> sent;
  datagrams_->write(now(), news.outcomes, sent);
  for (const Datagrams::Sent& each : sent) link(each.peer).say_sent(each, news);
  datagrams_->expire(now(), news.outcomes);
}

void TcpTransport::end_broken(News& news) {
  // A rank that tells why it fails ends next, and others end for its reason:
  // whoever gets both at once is to know the reason.
  if (!news.notices.empty()) return;
  for (const auto& each : links_) {
    if (!each || !each->is_broken() || each->has_ended()) continue;
    each->end(news);
    if (!datagrams_) continue;
    for (Transfer* left : datagrams_->end(each->rank())) {
      each->fail(*left, news);
    }
  }
}

bool TcpTransport::settle(News& news) {
  for (Outcome& outcome : news.outcomes) {
    if (outcome.failure) {
      fail(*outcome.transfer, std::move(*outcome.failure));
    } else if (outcome.is_in_part) {
      finish_in_part(*outcome.transfer);
    } else {
      finish(*outcome.transfer, outcome.bytes);
    }
  }
  for (Notice& notice : news.notices) {
    if (notice.kind == Notice::Kind::kFailure && heard_failure_.empty()) {
      heard_failure_ = fmt::format("rank {}: {}", notice.from, notice.text);
    }
    notice_came(std::move(notice));
  }
  return !news.outcomes.empty();
}

void TcpTransport::start(Transfer& transfer) {
  News news;
  const int peer = transfer.route().peer;
  if (peer == rank_) {
    own_.start(transfer, news.outcomes);
  } else if (goes_by_datagrams(transfer)) {
    datagrams_->start(transfer, now(), news.outcomes);
    move_datagrams(0, news);
  } else {
    link(peer).start(transfer, news);
  }
  // What is over with it would else not be noticed before the next message.
  is_over_ |= settle(news);
}

void TcpTransport::abandon(Transfer& transfer) noexcept {
  const int peer = transfer.route().peer;
  if (peer == rank_) {
    own_.forget(transfer);
  } else if (goes_by_datagrams(transfer)) {
    datagrams_->forget(transfer);
  } else {
    link(peer).forget(transfer);
  }
}

bool TcpTransport::goes_by_datagrams(const Transfer& transfer) const {
  return datagrams_ && transfer.is_lossy() &&
         !link(transfer.route().peer).has_ended();
}

void TcpTransport::send_notice(int to, const Notice& notice) noexcept {
  News news;
  link(to).send_notice(notice, news);
  is_over_ |= settle(news);
}

// Whoever sees this rank go before it has heard of the failure itself would
// take this one for the cause.
void TcpTransport::pass_failure_on() {
  News news;  // of nobody any more
  for (const auto& each : links_) {
    if (!each) continue;
    each->send_notice({Notice::Kind::kFailure, rank_, heard_failure_}, news);
  }
}

void TcpTransport::linger() {
  const double until = now() + kLingerSeconds;
  News news;  // of nobody any more
  while (true) {
    ready_.clear();
    for (const auto& each : links_) {
      if (!each || each->is_broken()) continue;
      each->write(news);
      if (!each->wants_to_write()) each->end_sending();
      if (each->drain()) ready_.push_back(wanted_of(*each));
    }
    const double rest = until - now();
    if (ready_.empty() || rest <= 0) return;
    wait_for(ready_, rest);
  }
}

bool TcpTransport::take_wake() {
  std::uint64_t count = 0;
  return ::read(wake_, &count, sizeof(count)) > 0;
}

void TcpTransport::wake() {
  const std::uint64_t one = 1;
  // It can only fail where the counter is full, and then it is readable.
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
}

}  // namespace weft::tcp
