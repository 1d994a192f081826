#include "weft/comm/tcp/tcp_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/exchanges.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/tcp_ranks.h"
#include "tests/support/transport_checks.h"

#include "weft/comm/collective/rooted.h"

namespace weft::tcp_transport_test {
namespace {

using test::hear;
using test::TcpProxy;
using test::TcpRanks;
using test::tell;
using testing::HasSubstr;

const std::string kSecret = "what nobody else may read, again and again. ";

// Rank 1 tells rank 0 a text, of many bytes.
void tell_secret(Transport& transport) {
  Engine engine(transport);
  Communicator all(transport);
  std::string text;
  while (text.size() < 200'000) text += kSecret;
  const Channel channel = all.open({"give", "'secret'"});
  const auto exchange = [&](std::string& room) -> Task<> {
    const auto bytes = std::as_writable_bytes(std::span(room));
    if (channel.rank() == 1) {
      co_await channel.send(0, bytes);
    } else {
      co_await channel.receive(1, bytes);
    }
  };
  std::string heard = text;
  if (transport.rank() == 0) heard.assign(text.size(), ' ');
  engine.run(exchange(heard));
  EXPECT_EQ(heard, text);
}

bool contains(const Bytes& bytes, const std::string& text) {
  const auto part = std::as_bytes(std::span(text));
  return std::search(bytes.begin(), bytes.end(), part.begin(), part.end()) !=
         bytes.end();
}

// Each tells each a number, many times, in datagrams: what has come of it is
// right, whatever has not.
void pass_datagrams(Transport& transport) {
  constexpr int kSize = 50'000;
  Engine engine(transport);
  Communicator all(transport);
  const Channel channel = all.open({"pass", "numbers"});
  const int size = transport.size();
  std::vector<std::vector<int>> heard(static_cast<std::size_t>(size),
                                      std::vector<int>(kSize, -1));
  std::vector<PartMap> came(heard.size());
  const std::vector<int> own(kSize, transport.rank());
  const auto pass = [&](int peer) -> Task<> {
    const auto from = static_cast<std::size_t>(peer);
    Transfer out = channel.send_lossy(peer, std::as_bytes(std::span(own)));
    Transfer in = channel.receive_lossy(
        peer, std::as_writable_bytes(std::span(heard[from])), came[from]);
    co_await out;
    co_await in;
  };
  std::vector<Engine::Operation> under_way;
  for (int peer = 0; peer < size; ++peer) {
    if (peer != transport.rank()) under_way.push_back(engine.start(pass(peer)));
  }
  for (const auto& operation : under_way) engine.wait(operation);
  // Whoever has taken the rest for lost would be gone while others still send.
  engine.run(barrier(all.open({"barrier", ""})));
  for (int peer = 0; peer < size; ++peer) {
    if (peer == transport.rank()) continue;
    const auto from = static_cast<std::size_t>(peer);
    EXPECT_GT(came[from].came(), 0u);
    for (std::size_t i = 0; i < kSize; ++i) {
      const bool is_there =
          came[from].has(i * sizeof(int) / PartMap::kPartBytes);
      ASSERT_EQ(heard[from][i], is_there ? peer : -1);
    }
  }
}

TEST(TcpTransport, MessagesThatMayArriveInPartGoAsDatagrams) {
  for (const bool has_key : {true, false}) {
    TcpRanks ranks(3, has_key);
    ranks.send_datagrams();
    for (const auto& message : ranks.run(pass_datagrams)) {
      EXPECT_EQ(message, "nothing was thrown");
    }
  }
}

// All of a message is lost, and its sender has said that it is sent before its
// receiver had a transport.
TEST(TcpTransport, HearsOfDatagramsBeforeItBegins) {
  auto door = tcp::Socket::listen(test::any_port());
  const tcp::Address first = door.here();
  const auto options = [](int rank) {
    return tcp::MeetingOptions{.rank = rank,
                               .ranks = 2,
                               .key = test::test_key(),
                               .sends_datagrams = true};
  };
  std::optional<tcp::Company> second;
  std::thread other([&] { second = tcp::meet_at(first, options(1)); });
  tcp::Company company = tcp::meet_as_first(std::move(door), options(0));
  other.join();
  const auto nowhere = tcp::DatagramSocket::bind(test::any_port());
  company.datagrams->addresses[1] = tcp::Address::of_here(nowhere.get());
  auto sender = std::make_unique<tcp::TcpTransport>(std::move(company));
  Communicator from(*sender);
  std::vector<int> values(10, 7);
  const Channel out = from.open({"give", ""});
  const Transfer sent = out.send_lossy(1, test::bytes_of(values));
  while (!sent.await_ready()) sender->poll(1);

  auto receiver = std::make_unique<tcp::TcpTransport>(std::move(*second));
  Communicator to(*receiver);
  const Channel in = to.open({"give", ""});
  PartMap came;
  const Transfer received = in.receive_lossy(0, test::bytes_of(values), came);
  // It is over soon, or never.
  for (int i = 0; i < 50 && !received.await_ready(); ++i) receiver->poll(0.1);
  EXPECT_TRUE(received.await_ready());
  EXPECT_EQ(came.came(), 0u);
  // Each that goes waits for the other to go.
  other = std::thread([&] { sender.reset(); });
  receiver.reset();
  other.join();
}

// A question about an operation is cut where its name is longer than a notice.
TEST(TcpTransport, LongNamesAreNoDifference) {
  const auto messages = TcpRanks(2).run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    const Channel channel = all.open({"give", std::string(3000, 'x')});
    std::vector<int> values(10);
    if (transport.rank() == 1) {
      engine.run(hear(channel, 0, values));
      return;
    }
    // As it would if the other were slow. Notices go first.
    transport.send_notice(1, {Notice::Kind::kQuery, 0,
                              EnteredOperations::to_text(channel.operation())});
    engine.run(tell(channel, 1, values));
  });
  EXPECT_EQ(messages[0], "nothing was thrown");
  EXPECT_EQ(messages[1], "nothing was thrown");
}

TEST(TcpTransport, NobodyInBetweenReadsWhatTravelsUnderAKey) {
  for (const bool has_key : {true, false}) {
    TcpRanks ranks(2, has_key);
    TcpProxy proxy(ranks.first());
    for (const auto& message : ranks.run(tell_secret, proxy.address())) {
      EXPECT_EQ(message, "nothing was thrown");
    }
    const Bytes& heard = proxy.heard();
    EXPECT_GT(heard.size(), 200'000u);
    EXPECT_EQ(contains(heard, kSecret), !has_key);
  }
}

TEST(TcpTransport, AChangedByteFailsBothRanksWithTheReason) {
  // Behind what the first rank says in the handshake and of the members.
  constexpr std::size_t kBehindTheMeeting = 1000;
  TcpRanks ranks(2);
  TcpProxy proxy(ranks.first(), kBehindTheMeeting);
  const auto messages = ranks.run(
      [](Transport& transport) {
        Engine engine(transport);
        Communicator all(transport);
        std::vector<int> values(100'000, transport.rank());
        // Rank 0 may have all of the first sum before the other finds out.
        for (int i = 0; i < 2; ++i) {
          engine.run(test::add_up(all.open({"add_up", "'conv1'"}), values));
        }
      },
      proxy.address());
  EXPECT_THAT(messages[1], HasSubstr("rank 0: is lost: a seal is broken"));
  EXPECT_THAT(messages[1], HasSubstr("in add_up of 'conv1'"));
  EXPECT_THAT(messages[0], HasSubstr("rank 1"));
}

TEST(TcpTransport, LargeMessagesPassEachOther) {
  const auto messages = TcpRanks(3).run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    std::vector<int> values(3'000'000, 1);
    engine.run(test::add_up(all.open({"add_up", "i32[3000000]"}), values));
    EXPECT_EQ(values, std::vector<int>(3'000'000, 3));
    EXPECT_EQ(transport.bytes_sent(), 2u * 12'000'000);
    EXPECT_EQ(transport.bytes_received(), 2u * 12'000'000);
  });
  EXPECT_EQ(messages, std::vector<std::string>(3, "nothing was thrown"));
}

// More than a rank keeps of what it has no receive for, in the order in which
// it is received last.
TEST(TcpTransport, MessagesThatNobodyWaitsForHoldUpNoOthers) {
  constexpr int kMessages = 600;
  const auto messages = TcpRanks(2).run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    std::vector<Channel> channels;
    for (int i = 0; i < kMessages; ++i) channels.push_back(all.open({"m", ""}));
    if (transport.rank() == 1) {
      std::vector<Engine::Operation> sends;
      for (int i = 0; i < kMessages; ++i) {
        sends.push_back(engine.start(tell(channels[static_cast<std::size_t>(i)],
                                          0, std::vector<int>(4000, i))));
      }
      for (const auto& send : sends) engine.wait(send);
      return;
    }
    for (int i = kMessages; i-- > 0;) {
      std::vector<int> values(4000);
      engine.run(hear(channels[static_cast<std::size_t>(i)], 1, values));
      ASSERT_EQ(values, std::vector<int>(4000, i));
    }
  });
  EXPECT_EQ(messages, std::vector<std::string>(2, "nothing was thrown"));
}

TEST(TcpTransport, WhatWasSaidBeforeLeavingIsStillHeard) {
  const auto messages = TcpRanks(2).run([](Transport& transport) {
    Engine engine(transport);
    Communicator all(transport);
    const Channel first = all.open({"first", ""});
    const Channel second = all.open({"second", "i32[5] 'conv1'"});
    if (transport.rank() == 1) {
      engine.run(tell(first, 0, {1, 2, 3}));
      return;
    }
    std::vector<int> values(3);
    engine.run(hear(first, 1, values));
    EXPECT_EQ(values, (std::vector<int>{1, 2, 3}));
    std::vector<int> more(5);
    engine.run(hear(second, 1, more));
  });
  EXPECT_EQ(messages[1], "nothing was thrown");
  EXPECT_THAT(messages[0],
              HasSubstr("rank 1: is lost: its connection was closed"));
  EXPECT_THAT(messages[0], HasSubstr("waiting to hear rank 1 20 bytes, in "
                                     "second of i32[5] 'conv1'"));
}

TEST(TcpTransport, ARankThatWaitsIsWoken) {
  const auto messages = TcpRanks(2).run([](Transport& transport) {
    transport.wake();
    // It would wait for longer than any test may.
    EXPECT_FALSE(transport.poll(1e6));
  });
  EXPECT_EQ(messages, std::vector<std::string>(2, "nothing was thrown"));
}

}  // namespace
}  // namespace weft::tcp_transport_test
