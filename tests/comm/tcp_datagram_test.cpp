// Messages that may arrive in part, from their seals to what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <thread>

#include "tests/support/idle_transport.h"

#include "weft/base/philox.h"
#include "weft/comm/tcp/datagram.h"
#include "weft/comm/tcp/datagrams.h"

namespace weft::tcp_datagram_test {
namespace {

using tcp::Datagram;
using tcp::DatagramOpener;
using tcp::DatagramSealer;
using tcp::LossyInbox;
using tcp::Outcome;
using tcp::SealKey;
using test::IdleTransfer;
using test::IdleTransport;
using Kind = Transfer::Kind;

constexpr std::size_t kPart = PartMap::kPartBytes;
constexpr SealKey kKey = {1, 2, 3};

Bytes numbered(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i % 251);
  }
  return bytes;
}

struct Sealed {
  Bytes payload = numbered(100);
  Bytes next(DatagramSealer& sealer) {
    Bytes out;
    sealer.seal(
        {.tag = 7, .message = 1, .part = 2, .bytes = 5000, .payload = payload},
        out);
    return out;
  }
};

TEST(Datagram, OpensAsItWasSealedOnceAndByItsKeyAlone) {
  Sealed made;
  for (const bool has_key : {true, false}) {
    const auto key = has_key ? std::optional(kKey) : std::nullopt;
    DatagramSealer sealer(3, key);
    DatagramOpener opener(key);
    const Bytes first = made.next(sealer);
    const Bytes second = made.next(sealer);
    EXPECT_EQ(tcp::sender_of(first), 3u);
    // The other way round is how datagrams may come.
    for (const Bytes& each : {second, first}) {
      const auto datagram = opener.open(each);
      ASSERT_TRUE(datagram);
      EXPECT_EQ(datagram->tag, 7u);
      EXPECT_EQ(datagram->message, 1u);
      EXPECT_EQ(datagram->part, 2u);
      EXPECT_EQ(datagram->bytes, 5000u);
      EXPECT_TRUE(std::ranges::equal(datagram->payload, made.payload));
      EXPECT_FALSE(opener.open(each)) << "was taken twice";
    }
  }
  DatagramSealer sealer(3, SealKey{9});
  DatagramOpener opener(kKey);
  EXPECT_FALSE(opener.open(made.next(sealer)));
}

TEST(Datagram, IsDroppedWhereAnythingOfItWasChanged) {
  Sealed made;
  DatagramSealer sealer(3, kKey);
  const Bytes sealed = made.next(sealer);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    // A number of its own, which alone is no forgery, is what byte 4 begins.
    DatagramOpener opener(kKey);
    Bytes changed = sealed;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(opener.open(changed)) << i;
    EXPECT_FALSE(opener.open(std::span(sealed).first(i))) << i;
    EXPECT_TRUE(opener.open(sealed)) << "a forgery has moved the window";
  }
  EXPECT_FALSE(tcp::sender_of(std::span(sealed).first(20)));
}

TEST(Datagram, OfLongAgoIsDropped) {
  Sealed made;
  DatagramSealer sealer(0, std::nullopt);
  DatagramOpener opener(std::nullopt);
  const Bytes first = made.next(sealer);
  Bytes last;
  for (int i = 0; i < 20'000; ++i) last = made.next(sealer);
  EXPECT_TRUE(opener.open(last));
  EXPECT_FALSE(opener.open(first));
}

// Without a key anybody on this machine may say any number.
TEST(Datagram, OfAnImpossibleNumberIsDropped) {
  Sealed made;
  DatagramSealer sealer(0, std::nullopt);
  DatagramOpener opener(std::nullopt);
  Bytes forged = made.next(sealer);
  std::fill_n(forged.begin() + sizeof(std::uint32_t), sizeof(std::uint64_t),
              std::byte{0xff});
  EXPECT_FALSE(opener.open(forged));
  EXPECT_TRUE(opener.open(made.next(sealer)));
}

struct Receiver {
  IdleTransport transport;
  LossyInbox inbox{1};
  std::vector<Outcome> over;

  void take(Tag tag, std::uint32_t message, std::uint32_t part,
            const Bytes& whole, double now = 0) {
    PartMap parts;
    parts.reset(whole.size());
    inbox.take({.tag = tag,
                .message = message,
                .part = part,
                .bytes = whole.size(),
                .payload = std::span(whole).subspan(parts.begin(part),
                                                    parts.size(part))},
               now, over);
  }
};

TEST(LossyInbox, PutsPartsWhereTheyBelong) {
  Receiver receiver;
  const Bytes whole = numbered(2 * kPart + 10);
  // One comes early, one twice, and out of order.
  receiver.take(4, 0, 2, whole);
  IdleTransfer receive(receiver.transport, Kind::kReceive, 4, whole.size(), 0,
                       true);
  receiver.inbox.receive(receive.get(), 0, receiver.over);
  receiver.take(4, 0, 1, whole);
  receiver.take(4, 0, 1, whole);
  EXPECT_TRUE(receiver.over.empty());
  receiver.take(4, 0, 0, whole);
  ASSERT_EQ(receiver.over.size(), 1u);
  EXPECT_TRUE(receiver.over[0].is_in_part);
  EXPECT_TRUE(receive.came().is_complete());
  EXPECT_EQ(receive.bytes(), whole);
  // What comes for it now is of nobody.
  receiver.take(4, 0, 0, whole);
  EXPECT_EQ(receiver.inbox.next_expiry(),
            std::numeric_limits<double>::infinity());
}

TEST(LossyInbox, TakesTheRestForLostAfterSilence) {
  Receiver receiver;
  const Bytes whole = numbered(3 * kPart);
  IdleTransfer receive(receiver.transport, Kind::kReceive, 4, whole.size(), 0,
                       true);
  receiver.inbox.receive(receive.get(), 0, receiver.over);
  // Nothing has come, so that its sender may not have begun.
  receiver.inbox.expire(100, receiver.over);
  EXPECT_TRUE(receiver.over.empty());
  receiver.take(4, 0, 1, whole, 100);
  EXPECT_EQ(receiver.inbox.next_expiry(), 101);
  receiver.inbox.expire(100.9, receiver.over);
  EXPECT_TRUE(receiver.over.empty());
  receiver.inbox.expire(101, receiver.over);
  ASSERT_EQ(receiver.over.size(), 1u);
  EXPECT_FALSE(receive.came().has(0));
  EXPECT_TRUE(receive.came().has(1));
  EXPECT_FALSE(receive.came().has(2));
}

TEST(LossyInbox, DoesNotWaitForWhatIsLostAltogether) {
  Receiver receiver;
  const Bytes whole = numbered(kPart);
  IdleTransfer first(receiver.transport, Kind::kReceive, 4, kPart, 0, true);
  receiver.inbox.receive(first.get(), 0, receiver.over);
  receiver.inbox.sender_is_done(4, 0, 5, receiver.over);
  receiver.inbox.expire(6, receiver.over);
  ASSERT_EQ(receiver.over.size(), 1u);
  EXPECT_EQ(first.came().came(), 0u);
  // The message behind it is not taken for it.
  receiver.take(4, 1, 0, whole);
  IdleTransfer second(receiver.transport, Kind::kReceive, 4, kPart, 0, true);
  receiver.inbox.receive(second.get(), 6, receiver.over);
  ASSERT_EQ(receiver.over.size(), 2u);
  EXPECT_EQ(second.bytes(), whole);
  // A word about one that is over begins nothing.
  receiver.inbox.sender_is_done(4, 0, 7, receiver.over);
  EXPECT_EQ(receiver.inbox.next_expiry(),
            std::numeric_limits<double>::infinity());
}

TEST(LossyInbox, DropsWhatMakesNoSense) {
  Receiver receiver;
  const Bytes whole = numbered(2 * kPart);
  IdleTransfer receive(receiver.transport, Kind::kReceive, 4, whole.size(), 0,
                       true);
  receiver.inbox.receive(receive.get(), 0, receiver.over);
  const Bytes other = numbered(5 * kPart);
  receiver.take(4, 0, 1, other);  // another length
  const auto wrong = [&](Datagram datagram) {
    receiver.inbox.take(datagram, 0, receiver.over);
  };
  wrong({.tag = 4, .part = 9, .bytes = whole.size(), .payload = whole});
  wrong({.tag = 4, .part = 2, .bytes = whole.size()});
  wrong({.tag = 4,
         .part = 0,
         .bytes = whole.size(),
         .payload = std::span(whole).first(kPart - 1)});
  EXPECT_EQ(receive.came().came(), 0u);
  EXPECT_EQ(receive.bytes(), Bytes(whole.size()));
  EXPECT_TRUE(receiver.over.empty());
  // Whoever gives it up, or is left, is asked nothing more.
  EXPECT_EQ(receiver.inbox.end(), std::vector<Transfer*>{&receive.get()});
}

TEST(LossyInbox, KeepsNoMoreThanItsWindowUnasked) {
  Receiver receiver;
  const Bytes whole = numbered(kPart);
  const std::uint32_t many = 2 * (4 << 20) / kPart;
  for (std::uint32_t i = 0; i < many; ++i) receiver.take(4, i, 0, whole);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < many; ++i) {
    IdleTransfer receive(receiver.transport, Kind::kReceive, 4, kPart, 0, true);
    receiver.inbox.receive(receive.get(), 0, receiver.over);
    kept += receive.came().is_complete() ? 1 : 0;
    receiver.inbox.forget(receive.get());
  }
  EXPECT_GT(kept, many / 3);
  EXPECT_LT(kept, many / 2 + 1);
}

// What stands between two ranks, and drops some.
class LossyWire {
 public:
  LossyWire(const tcp::Address& to, int every)
      : socket_(
            tcp::DatagramSocket::bind(tcp::Address::of_numbers("127.0.0.1:0"))),
        thread_([this, to, every](const std::stop_token& stop) {
          Bytes room(tcp::kMostDatagram);
          int count = 0;
          while (!stop.stop_requested()) {
            pollfd wanted = {socket_.get(), POLLIN, 0};
            ::poll(&wanted, 1, 10);
            while (const std::size_t size = socket_.receive(room)) {
              if (++count % every == 0) continue;
              socket_.send(to, std::span(room).first(size));
            }
          }
        }) {}
  tcp::Address address() const { return tcp::Address::of_here(socket_.get()); }

 private:
  tcp::DatagramSocket socket_;
  std::jthread thread_;
};

TEST(Datagrams, ArriveButForThoseThatAreLost) {
  constexpr int kEvery = 7;
  constexpr std::size_t kParts = 500;
  const auto here = tcp::Address::of_numbers("127.0.0.1:0");
  auto to_socket = tcp::DatagramSocket::bind(here);
  const LossyWire wire(tcp::Address::of_here(to_socket.get()), kEvery);
  // Rank 0 sends to rank 1.
  tcp::Datagrams from(tcp::DatagramSocket::bind(here), 0,
                      {{1, wire.address(), tcp::DatagramKeys{kKey, {}}}}, {});
  tcp::Datagrams to(std::move(to_socket), 1,
                    {{0, here, tcp::DatagramKeys{{}, kKey}}}, {.silence = 30});
  IdleTransport transport;
  const Bytes whole = numbered(kParts * kPart - 100);
  IdleTransfer send(transport, Kind::kSend, 4, whole.size(), 0, true);
  send.bytes() = whole;
  std::vector<std::byte> room(whole.size());
  PartMap came;
  Transfer receive(transport, Kind::kReceive, {.peer = 0, .tag = 4},
                   room.data(), room.size(),
                   std::make_shared<const EnteredOperation>(), nullptr,
                   {true, &came});
  std::vector<Outcome> sent;
  std::vector<Outcome> received;
  std::vector<tcp::Datagrams::Sent> told;
  to.start(receive, 0, received);
  from.start(send.get(), 0, sent);
  double now = 0;
  const std::size_t expected = kParts - kParts / kEvery;
  while (told.empty() || came.came() < expected) {
    std::vector<pollfd> wanted = {from.wanted(), to.wanted()};
    ::poll(wanted.data(), wanted.size(), 1);
    from.write(now += 1e-3, sent, told);
    to.read(0, received);
  }
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(told[0].message, 0u);
  EXPECT_TRUE(received.empty());
  // Its sender has said all, and nothing more comes for a while.
  to.sender_is_done({0, 4, 0}, 0, received);
  to.expire(30, received);
  ASSERT_EQ(received.size(), 1u);
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_EQ(came.has(part), (part + 1) % kEvery != 0) << part;
    if (!came.has(part)) continue;
    EXPECT_TRUE(std::ranges::equal(
        std::span(room).subspan(came.begin(part), came.size(part)),
        std::span(whole).subspan(came.begin(part), came.size(part))));
  }
}

}  // namespace
}  // namespace weft::tcp_datagram_test
