#include "weft/comm/tcp/meeting.h"

#include <array>
#include <unistd.h>

#include "weft/comm/tcp/reception.h"

namespace weft::tcp {
namespace {

// The first rank may be started after the others.
constexpr double kRetrySeconds = 0.1;

Identity identity_of(const MeetingOptions& options) {
  return {.rank = static_cast<std::uint32_t>(options.rank),
          .ranks = static_cast<std::uint32_t>(options.ranks),
          .run = options.run,
          .session = {},
          .key = options.key ? &*options.key : nullptr,
          .sends_datagrams = options.sends_datagrams};
}

// Where a rank is met, and where datagrams reach it: the same port of both.
struct Doors {
  Socket door;
  std::optional<DatagramSocket> datagrams;
};

Doors open_doors(const Address& here, const MeetingOptions& options) {
  // Another program may receive datagrams at a port that is free for us.
  constexpr int kAttempts = 16;
  for (int attempt = 1;; ++attempt) {
    Doors doors{Socket::listen(here.with_port(options.port)), std::nullopt};
    if (!options.sends_datagrams) return doors;
    try {
      doors.datagrams = DatagramSocket::bind(doors.door.here());
      return doors;
    } catch (const Error&) {
      if (options.port != 0 || attempt == kAttempts) throw;
    }
  }
}

std::string host_name() {
  std::array<char, 256> name = {};
  gethostname(name.data(), name.size() - 1);
  return name[0] == '\0' ? "unknown" : name.data();
}

// Moves it until it is over.
void complete(Greeting& greeting, double until) {
  while (!greeting.is_over()) {
    if (clock_seconds() >= until) {
      throw Error(ErrorCode::kUnavailable, "tcp", "{} does not answer",
                  greeting.name());
    }
    std::array<pollfd, 1> wanted = {greeting.wanted()};
    wait_for(wanted, until - clock_seconds());
    try {
      greeting.move();
    } catch (const Error& error) {
      throw Error(error).detail("while rank " + greeting.name() + " was met");
    }
  }
}

// A socket that is connected, or why there is none.
struct Attempt {
  Socket socket;
  std::string failure;
};

Attempt try_to_connect(const Address& address, double until) {
  Attempt attempt;
  try {
    attempt.socket = Socket::connect(address);
    std::array<pollfd, 1> wanted = {{{attempt.socket.get(), POLLOUT, 0}}};
    wait_for(wanted, until - clock_seconds());
    attempt.failure = wanted[0].revents == 0 ? "nobody answers"
                                             : attempt.socket.connect_failure();
  } catch (const Error& error) {
    attempt.failure = error.message();
  }
  return attempt;
}

Socket connect(const Address& address, int rank, double until,
               const MeetingOptions& options) {
  if (!options.key && !address.is_loopback()) {
    throw Error(ErrorCode::kInvalidArgument, "tcp",
                "rank {} listens at {}, which others than this machine reach, "
                "and the run has no key",
                rank, address.text())
        .hint(kMakeKey);
  }
  bool has_said = false;
  while (true) {
    Attempt attempt = try_to_connect(address, until);
    if (attempt.failure.empty()) return std::move(attempt.socket);
    if (clock_seconds() + kRetrySeconds > until) {
      throw Error(ErrorCode::kUnavailable, "tcp",
                  "rank {} is not at {}: {}; waited {:.0f} s for it", rank,
                  address.text(), attempt.failure, options.timeout);
    }
    if (!has_said) {
      options.say(fmt::format("waits for rank {} at {}", rank, address.text()));
    }
    has_said = true;
    wait_for({}, kRetrySeconds);
  }
}

// Gets to know `rank` at the other end of `socket`, and learns of the session
// there if `self` does not know it yet.
Connection greet(Socket socket, int rank, Identity& self,
                 const Member& introduction, double until) {
  Session session = {};
  const auto judge = [&](const PeerHello& hello) {
    session = hello.session;
    return hello.rank == static_cast<std::uint32_t>(rank)
               ? Verdict::kWelcome
               : Verdict::kNoSuchRank;
  };
  Greeting greeting =
      Greeting::dial(std::move(socket), self, judge, introduction);
  complete(greeting, until);
  self.session = session;
  return greeting.take_connection();
}

// A frame for each: how long they are together depends on the number of ranks,
// and how long a frame may be does not.
void tell(Connection& connection, const std::vector<Member>& members,
          double until) {
  Bytes out;
  for (const Member& each : members) {
    const std::string text = text_of(each);
    connection.writer.write(
        {.kind = Frame::Kind::kMeet, .payload = std::as_bytes(std::span(text))},
        out);
  }
  for (std::size_t sent = 0; sent < out.size();) {
    sent += connection.socket.send(std::span(out).subspan(sent));
    if (sent == out.size()) return;
    if (clock_seconds() >= until) {
      throw Error(ErrorCode::kUnavailable, "tcp", "rank {} does not listen",
                  connection.rank);
    }
    std::array<pollfd, 1> wanted = {{{connection.socket.get(), POLLOUT, 0}}};
    wait_for(wanted, until - clock_seconds());
  }
}

// The next that the first rank names once all have come.
Member hear_member(Connection& first, double until,
                   const MeetingOptions& options) {
  while (true) {
    if (const auto frame = first.reader.next()) {
      const std::string_view text(
          reinterpret_cast<const char*>(frame->payload.data()),
          frame->kind == Frame::Kind::kMeet ? frame->payload.size() : 0);
      return parse_member(text);
    }
    if (clock_seconds() >= until) {
      throw Error(ErrorCode::kUnavailable, "tcp",
                  "other ranks did not come to the first within {:.0f} s",
                  options.timeout)
          .hint("start a process for each of the ranks");
    }
    std::array<pollfd, 1> wanted = {{{first.socket.get(), POLLIN, 0}}};
    wait_for(wanted, until - clock_seconds());
    try {
      first.reader.came(first.socket.receive(first.reader.room()));
    } catch (const Error& error) {
      throw Error(ErrorCode::kUnavailable, "tcp",
                  "rank 0 has left before all had come: {}", error.message());
    }
  }
}

// Other ranks reach the first where they have met it.
std::optional<DatagramPlaces> places_of(std::optional<DatagramSocket> socket,
                                        const Address& first,
                                        const std::vector<Member>& members,
                                        const MeetingOptions& options) {
  if (!socket) return std::nullopt;
  DatagramPlaces places{std::move(*socket), {first}, options.datagram_times};
  for (std::size_t rank = 1; rank < members.size(); ++rank) {
    places.addresses.push_back(Address::of_numbers(members[rank].address));
  }
  return places;
}

std::vector<std::string> hosts_of(const std::vector<Member>& members) {
  std::vector<std::string> hosts;
  for (const Member& each : members) hosts.push_back(each.host);
  return hosts;
}

}  // namespace

Company meet_as_first(Socket door, const MeetingOptions& options) {
  const double until = clock_seconds() + options.timeout;
  Identity self = identity_of(options);
  self.session = draw_session();
  std::optional<DatagramSocket> datagrams;
  if (options.sends_datagrams) datagrams = DatagramSocket::bind(door.here());
  Reception reception(door, self, 1, options);
  std::vector<Member> members = {{host_name(), door.here().text()}};
  Company company{.rank = 0, .hosts = {}, .connections = {}};
  for (Arrived& each : reception.receive(until)) {
    members.push_back(each.member);
    company.connections.push_back(std::move(each.connection));
  }
  for (Connection& each : company.connections) {
    tell(each, members, until);
  }
  company.hosts = hosts_of(members);
  company.datagrams =
      places_of(std::move(datagrams), door.here(), members, options);
  return company;
}

Company meet_at(const Address& first, const MeetingOptions& options) {
  const double until = clock_seconds() + options.timeout;
  Identity self = identity_of(options);
  Company company{.rank = options.rank, .hosts = {}, .connections = {}};
  // Where the first rank is reached from, others reach this one.
  Socket to_first = connect(first, 0, until, options);
  Doors doors = open_doors(to_first.here(), options);
  const Address outside = options.reached_at.value_or(doors.door.here());
  const Member introduction{host_name(), outside.text()};
  company.connections.push_back(
      greet(std::move(to_first), 0, self, introduction, until));
  std::vector<Member> members;
  for (int rank = 0; rank < options.ranks; ++rank) {
    members.push_back(hear_member(company.connections.front(), until, options));
  }
  for (int rank = 1; rank < options.rank; ++rank) {
    const auto address =
        Address::of_numbers(members[static_cast<std::size_t>(rank)].address);
    company.connections.push_back(greet(connect(address, rank, until, options),
                                        rank, self, introduction, until));
  }
  Reception reception(doors.door, self, options.rank + 1, options);
  for (Arrived& each : reception.receive(until)) {
    company.connections.push_back(std::move(each.connection));
  }
  company.hosts = hosts_of(members);
  company.datagrams =
      places_of(std::move(doors.datagrams), first, members, options);
  return company;
}

}  // namespace weft::tcp
