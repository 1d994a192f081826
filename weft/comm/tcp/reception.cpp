#include "weft/comm/tcp/reception.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace weft::tcp {
namespace {

// A rank is known within milliseconds; who takes longer has come for something
// else. Of too many at a time the oldest is the least likely to be a rank.
constexpr double kGreetingSeconds = 10;
constexpr std::size_t kMostGuests = 64;

}  // namespace

Reception::Reception(Socket& door, const Identity& self, int least,
                     const MeetingOptions& options)
    : door_(&door),
      self_(self),
      options_(options),
      least_(static_cast<std::size_t>(least)),
      arrived_(static_cast<std::size_t>(options.ranks)) {}

std::vector<Arrived> Reception::receive(double until) {
  while (!are_all_here()) {
    if (clock_seconds() >= until) throw not_come();
    wait(until);
    open_door();
    greet();
    miss_who_left();
  }
  std::vector<Arrived> all;
  for (std::size_t rank = least_; rank < arrived_.size(); ++rank) {
    all.push_back(std::move(*arrived_[rank]));
  }
  return all;
}

bool Reception::are_all_here() const {
  return std::all_of(arrived_.begin() + static_cast<std::ptrdiff_t>(least_),
                     arrived_.end(),
                     [](const auto& each) { return each.has_value(); });
}

void Reception::wait(double until) {
  std::vector<pollfd> wanted = {{door_->get(), POLLIN, 0}};
  for (const Guest& guest : guests_) {
    wanted.push_back(guest.greeting.wanted());
    until = std::min(until, guest.until);
  }
  for (const auto& each : arrived_) {
    if (each && is_first()) {
      wanted.push_back({each->connection.socket.get(), POLLRDHUP, 0});
    }
  }
  wait_for(wanted, until - clock_seconds());
}

void Reception::open_door() {
  while (auto socket = door_->accept()) {
    if (guests_.size() == kMostGuests) guests_.pop_front();
    guests_.push_back({Greeting::accept(std::move(*socket), self_,
                                        [this](const PeerHello& hello) {
                                          return judge(hello);
                                        }),
                       clock_seconds() + kGreetingSeconds});
  }
}

Verdict Reception::judge(const PeerHello& hello) const {
  if (hello.rank < least_) return Verdict::kNoSuchRank;
  // Only the first rank is met by those who do not know the session yet.
  if (!is_first() && hello.session != self_.session) {
    return Verdict::kOtherSession;
  }
  return arrived_[hello.rank] ? Verdict::kRankTaken : Verdict::kWelcome;
}

void Reception::greet() {
  std::erase_if(guests_, [this](Guest& guest) { return greet(guest); });
}

bool Reception::greet(Guest& guest) {
  try {
    guest.greeting.move();
  } catch (const Error& error) {
    options_.say(fmt::format("turned {} away: {}", guest.greeting.name(),
                             error.message()));
    return true;
  }
  if (!guest.greeting.is_over()) return clock_seconds() > guest.until;
  Connection connection = guest.greeting.take_connection();
  auto& place = arrived_[static_cast<std::size_t>(connection.rank)];
  // Two of one number may have been greeted at the same time.
  if (place) return true;
  place = {std::move(connection), guest.greeting.member()};
  if (is_first()) {
    options_.say(fmt::format("rank {} of {} has come, from {}",
                             place->connection.rank, options_.ranks,
                             place->member.host));
  }
  return true;
}

// A rank that leaves the first one before all have come may be started again.
// Later its place is known to all, and whoever needs it is told by its link.
void Reception::miss_who_left() {
  if (!is_first()) return;
  for (auto& each : arrived_) {
    if (!each) continue;
    std::array<pollfd, 1> socket = {
        {{each->connection.socket.get(), POLLRDHUP, 0}}};
    wait_for(socket, 0);
    if (socket[0].revents == 0) continue;
    options_.say(fmt::format("rank {} has left; it may come again",
                             each->connection.rank));
    each.reset();
  }
}

Error Reception::not_come() const {
  std::vector<std::size_t> missing;
  for (std::size_t rank = least_; rank < arrived_.size(); ++rank) {
    if (!arrived_[rank]) missing.push_back(rank);
  }
  return Error(ErrorCode::kUnavailable, "tcp",
               "rank{} {} of {} did not come to {} within {:.0f} s",
               missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
               options_.ranks, door_->here().text(), options_.timeout)
      .hint("start a process for each rank, with the same address and key");
}

}  // namespace weft::tcp
