#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <latch>
#include <mutex>

#include "tests/support/tcp_proxy.h"
#include "tests/support/tcp_ranks.h"
#include "tests/support/transport_checks.h"

#include "weft/comm/tcp/greeting.h"
#include "weft/comm/tcp/meeting.h"
#include "weft/comm/tcp/member.h"

namespace weft::tcp_meeting_test {
namespace {

using tcp::MeetingOptions;
using tcp::Socket;
using test::expect_error;
using test::message_of;
using test::TcpRanks;
using testing::HasSubstr;

void add_up(Transport& transport) { test::check_sums(transport); }

// A first rank of two that is about to meet the other, on a thread.
class First {
 public:
  explicit First(MeetingOptions options = {.rank = 0, .ranks = 2})
      : door_(Socket::listen(test::any_port())), address_(door_.here()) {
    options.say = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      said_ += text + '\n';
      changed_.notify_all();
    };
    if (!options.key) options.key = test::test_key();
    thread_ = std::thread([this, options] {
      message_ = message_of([&] {
        const tcp::TcpTransport transport(
            tcp::meet_as_first(std::move(door_), options));
      });
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
      changed_.notify_all();
    });
  }
  ~First() { end(); }

  const tcp::Address& address() const { return address_; }
  // What it says once it has said `part`, which it must before it ends.
  std::string wait_for(const std::string& part) {
    const auto is_said = [&] { return said_.find(part) != said_.npos; };
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_said() || has_ended_; });
    EXPECT_TRUE(is_said()) << part << " is not in: " << said_;
    return said_;
  }
  // What its meeting has thrown.
  std::string end() {
    if (thread_.joinable()) thread_.join();
    return message_;
  }

 private:
  Socket door_;
  tcp::Address address_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string said_;
  bool has_ended_ = false;
  std::string message_;
  std::thread thread_;
};

MeetingOptions second() {
  return {.rank = 1, .ranks = 2, .key = test::test_key()};
}

// Meets the first rank and leaves.
void come(const tcp::Address& first, const MeetingOptions& options) {
  const tcp::TcpTransport transport(tcp::meet_at(first, options));
}

void say(Socket& socket, const std::string& text) {
  pollfd wanted[] = {{socket.get(), POLLOUT, 0}};
  tcp::wait_for(wanted, 60);
  socket.send(std::as_bytes(std::span(text)));
}

// Rank 1 of three is where the proxy passes rank 2 on to, and nowhere else that
// rank 2 knows of.
TEST(TcpMeeting, ARankIsReachedWhereItSays) {
  const int port = test::free_port();
  test::TcpProxy outside(test::any_port().with_port(port));
  const std::vector<MeetingOptions> options{
      {.ranks = 3, .key = test::test_key()},
      {.rank = 1,
       .ranks = 3,
       .key = test::test_key(),
       .port = port,
       .reached_at = outside.address()},
      {.rank = 2, .ranks = 3, .key = test::test_key()}};
  Socket door = Socket::listen(test::any_port());
  const tcp::Address first = door.here();
  std::vector<std::thread> threads;
  for (const MeetingOptions& own : options) {
    threads.emplace_back([&] {
      tcp::TcpTransport transport(own.rank == 0
                                      ? tcp::meet_as_first(std::move(door), own)
                                      : tcp::meet_at(first, own));
      add_up(transport);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(outside.heard().size(), 0u);
}

TEST(TcpMeeting, RanksMeetWithAKeyAndWithout) {
  for (const bool has_key : {true, false}) {
    for (const int ranks : {1, 2, 5}) {
      for (const auto& message : TcpRanks(ranks, has_key).run(add_up)) {
        EXPECT_EQ(message, "nothing was thrown");
      }
    }
  }
}

TEST(TcpMeeting, StrangersAreTurnedAwayAndTheOthersMeet) {
  First first;
  Socket silent = Socket::connect(first.address());
  Socket loud = Socket::connect(first.address());
  say(loud, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(first.wait_for("no rank of Weft"),
              HasSubstr("turned 127.0.0.1:"));
  Socket garbage = Socket::connect(first.address());
  say(garbage, "weft-tcp" + std::string(200, '\xff'));
  first.wait_for("another version");
  { const Socket gone = Socket::connect(first.address()); }
  first.wait_for("its connection ");  // was closed, or reset
  come(first.address(), second());
  EXPECT_EQ(first.end(), "nothing was thrown");
}

TEST(TcpMeeting, WhoDoesNotBelongIsToldWhyAndTheOthersMeet) {
  First first({.rank = 0, .ranks = 2, .run = "a"});
  MeetingOptions right = second();
  right.run = "a";
  MeetingOptions wrong = right;
  wrong.key = tcp::RunKey(std::string(64, 'x'), "test");
  expect_error(ErrorCode::kUnavailable,
               {"rank 1 declines rank 0 at 127.0.0.1:",
                "because its key is another one", "WEFT_KEY or key=FILE"},
               [&] { come(first.address(), wrong); });
  first.wait_for("its key is another one");
  wrong = right;
  wrong.key.reset();
  expect_error(ErrorCode::kUnavailable,
               {"it has a key, and the other has none"},
               [&] { come(first.address(), wrong); });
  first.wait_for("it has no key");
  // Two runs that meet at one port.
  wrong = right;
  wrong.run = "b";
  expect_error(ErrorCode::kUnavailable, {"it belongs to another run"},
               [&] { come(first.address(), wrong); });
  first.wait_for("it belongs to another run");
  wrong = right;
  wrong.ranks = 3;
  expect_error(ErrorCode::kUnavailable, {"counts another number of ranks"},
               [&] { come(first.address(), wrong); });
  come(first.address(), right);
  EXPECT_EQ(first.end(), "nothing was thrown");
}

TEST(TcpMeeting, ASecondRankOfOneNumberIsDeclined) {
  First first({.rank = 0, .ranks = 3});
  MeetingOptions one = second();
  one.ranks = 3;
  std::thread there([&] { come(first.address(), one); });
  first.wait_for("rank 1 of 3 has come");
  expect_error(ErrorCode::kUnavailable,
               {"declines rank 1, because a rank of that number is there"},
               [&] { come(first.address(), one); });
  MeetingOptions last = one;
  last.rank = 2;
  come(first.address(), last);
  there.join();
  EXPECT_EQ(first.end(), "nothing was thrown");
}

// Is let in by the first rank, and says that it is on `host`.
tcp::Greeting greet(const tcp::Address& first, std::uint32_t rank,
                    std::uint32_t ranks, const std::string& host) {
  const tcp::Identity self{
      .rank = rank, .ranks = ranks, .key = &test::test_key()};
  tcp::Greeting greeting = tcp::Greeting::dial(
      Socket::connect(first), self,
      [](const tcp::PeerHello&) { return tcp::Verdict::kWelcome; },
      {host, "127.0.0.1:1"});
  while (!greeting.is_over()) {
    pollfd wanted[] = {greeting.wanted()};
    tcp::wait_for(wanted, 60);
    greeting.move();
  }
  return greeting;
}

TEST(TcpMeeting, ARankThatLeavesMayComeAgain) {
  First first({.rank = 0, .ranks = 3});
  { const auto gone = greet(first.address(), 1, 3, "here"); }
  first.wait_for("rank 1 has left; it may come again");
  MeetingOptions one = second();
  one.ranks = 3;
  MeetingOptions two = one;
  two.rank = 2;
  std::thread there([&] { come(first.address(), two); });
  come(first.address(), one);
  there.join();
  EXPECT_EQ(first.end(), "nothing was thrown");
}

TEST(TcpMeeting, TwoFirstRanksCannotListenAtOneAddress) {
  const Socket door = Socket::listen(test::any_port());
  expect_error(ErrorCode::kUnavailable,
               {"cannot listen at 127.0.0.1:", "another run may be there"},
               [&] { Socket::listen(door.here()); });
}

TEST(TcpMeeting, SaysWhoDidNotCome) {
  MeetingOptions options{
      .rank = 0, .ranks = 4, .key = test::test_key(), .timeout = 0.01};
  expect_error(ErrorCode::kUnavailable,
               {"ranks 1, 2, 3 of 4 did not come to 127.0.0.1:"}, [&] {
                 tcp::meet_as_first(Socket::listen(test::any_port()), options);
               });
  const tcp::Address nobody = Socket::listen(test::any_port()).here();
  MeetingOptions alone = second();
  alone.timeout = 0.01;
  expect_error(ErrorCode::kUnavailable,
               {"rank 0 is not at 127.0.0.1:", "Connection refused"},
               [&] { tcp::meet_at(nobody, alone); });
}

TEST(TcpMeeting, WithoutAKeyOnlyThisMachineIsCalled) {
  MeetingOptions options{.rank = 1, .ranks = 2};
  expect_error(ErrorCode::kInvalidArgument,
               {"rank 0 listens at 192.0.2.1:7070, which others than this "
                "machine reach, and the run has no key",
                "openssl rand"},
               [&] {
                 tcp::meet_at(tcp::Address::of_numbers("192.0.2.1:7070"),
                              options);
               });
}

TEST(TcpMeeting, AddressesAreHostsAndPorts) {
  using tcp::Address;
  EXPECT_EQ(Address::of_numbers("10.0.0.1:70").text(), "10.0.0.1:70");
  EXPECT_EQ(Address::of_numbers("[::1]:70").text(), "[::1]:70");
  EXPECT_EQ(Address::of_numbers("[::1]:70").with_port(9).text(), "[::1]:9");
  EXPECT_TRUE(Address::of_numbers("127.3.2.1:70").is_loopback());
  EXPECT_TRUE(Address::of_numbers("[::1]:70").is_loopback());
  EXPECT_FALSE(Address::of_numbers("0.0.0.0:70").is_loopback());
  EXPECT_FALSE(Address::of_numbers("[::]:70").is_loopback());
  for (const char* text : {"10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", ":70",
                           "::1:70", "10.0.0.1:7x", "10.0.0.1:-1"}) {
    expect_error(ErrorCode::kInvalidArgument, {"an address is a host and"},
                 [&] { Address::look_up(text); });
  }
}

TEST(TcpMeeting, AnIntroductionIsReadAsItWasWritten) {
  const std::string text = tcp::text_of({"b.c", "[::1]:2"});
  const tcp::Member read = tcp::parse_member(text);
  EXPECT_EQ(read.host, "b.c");
  EXPECT_EQ(read.address, "[::1]:2");
  for (const std::string& wrong :
       {std::string(), text + "x", text.substr(3), text.substr(0, 9),
        std::string("a\x1b[2J 127.0.0.1:1\n"), std::string("a nowhere:1\n")}) {
    expect_error(ErrorCode::kDataLoss, {"the introduction of a rank"},
                 [&] { tcp::parse_member(wrong); });
  }
}

// The host that the first rank names next.
std::string hear_host(tcp::Connection& first) {
  while (true) {
    if (const auto frame = first.reader.next()) {
      const std::string_view text(
          reinterpret_cast<const char*>(frame->payload.data()),
          frame->payload.size());
      return tcp::parse_member(text).host;
    }
    pollfd wanted[] = {{first.socket.get(), POLLIN, 0}};
    tcp::wait_for(wanted, 60);
    first.reader.came(first.socket.receive(first.reader.room()));
  }
}

// With the longest names that hosts may have, 300 are more than a frame holds.
TEST(TcpMeeting, ManyRanksHearOfEachOther) {
  constexpr std::uint32_t kRanks = 300;
  First first({.rank = 0, .ranks = kRanks});
  const std::string host(250, 'h');
  std::vector<tcp::Connection> company;
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    tcp::Greeting greeting =
        greet(first.address(), rank, kRanks, host + std::to_string(rank));
    company.push_back(greeting.take_connection());
  }
  for (tcp::Connection* each : {&company.front(), &company.back()}) {
    hear_host(*each);  // that of the first rank, which is this machine's
    for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
      ASSERT_EQ(hear_host(*each), host + std::to_string(rank));
    }
  }
  EXPECT_EQ(first.end(), "nothing was thrown");
}

}  // namespace
}  // namespace weft::tcp_meeting_test
