#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/comm/tcp/handshake.h"

namespace weft::tcp_handshake_test {
namespace {

using tcp::Frame;
using tcp::Handshake;
using tcp::Identity;
using tcp::PeerHello;
using tcp::RunKey;
using tcp::Verdict;
using test::message_of;
using testing::HasSubstr;

const RunKey& key() {
  static const RunKey made(std::string(32, 'a'), "test");
  return made;
}

Handshake dialler(const Identity& self) {
  return {Handshake::Side::kDialler, self, "the first",
          [](const PeerHello&) { return Verdict::kWelcome; }};
}
Handshake acceptor(const Identity& self, Verdict verdict = Verdict::kWelcome) {
  return {Handshake::Side::kAcceptor, self, "a guest",
          [=](const PeerHello&) { return verdict; }};
}

// What each side says at the end: nothing, or why it declines or is declined.
struct Ends {
  std::string of_dialler;
  std::string of_acceptor;
};

// Passes `bytes` on; what that throws, as text.
std::string give(const Bytes& bytes, Handshake& to) {
  try {
    to.take(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Until nobody has anything to say, or both have heard why not.
Ends meet(Handshake& dialler, Handshake& acceptor) {
  Ends ends;
  while (true) {
    const Bytes there = dialler.take_output();
    const Bytes back = acceptor.take_output();
    if (there.empty() && back.empty()) return ends;
    if (ends.of_acceptor.empty()) ends.of_acceptor = give(there, acceptor);
    if (ends.of_dialler.empty()) ends.of_dialler = give(back, dialler);
  }
}

const Identity kFirst{.rank = 0, .ranks = 3, .key = &key()};
const Identity kSecond{.rank = 1, .ranks = 3, .key = &key()};

// The text of a notice, from one end to the other.
std::string carry(tcp::RecordWriter writer, tcp::RecordReader reader,
                  std::string text) {
  Bytes out;
  writer.write(
      {.kind = Frame::Kind::kNotice, .payload = std::as_bytes(std::span(text))},
      out);
  std::ranges::copy(out, reader.room().begin());
  reader.came(out.size());
  const auto frame = reader.next();
  if (!frame) return "nothing came";
  return {reinterpret_cast<const char*>(frame->payload.data()),
          frame->payload.size()};
}

TEST(TcpHandshake, TwoRanksWithOneKeyUnderstandEachOther) {
  Handshake one = dialler(kSecond);
  Handshake other = acceptor(kFirst);
  const Ends ends = meet(one, other);
  EXPECT_EQ(ends.of_dialler + ends.of_acceptor, "");
  ASSERT_TRUE(one.is_done() && other.is_done());
  EXPECT_EQ(other.peer().rank, 1u);
  EXPECT_EQ(carry(one.take_writer(), other.take_reader(), "there"), "there");
  EXPECT_EQ(carry(other.take_writer(), one.take_reader(), "back"), "back");
}

TEST(TcpHandshake, EachDirectionAndEachConnectionHasItsOwnKeys) {
  Handshake one = dialler(kSecond);
  Handshake other = acceptor(kFirst);
  meet(one, other);
  Handshake later = dialler(kSecond);
  Handshake later_other = acceptor(kFirst);
  meet(later, later_other);
  EXPECT_THAT(
      message_of([&] { carry(one.take_writer(), one.take_reader(), "echo"); }),
      HasSubstr("a seal is broken"));
  EXPECT_THAT(message_of([&] {
                carry(later.take_writer(), other.take_reader(), "replay");
              }),
              HasSubstr("a seal is broken"));
}

TEST(TcpHandshake, DatagramsHaveKeysOfTheirOwn) {
  Handshake one = dialler(kSecond);
  Handshake other = acceptor(kFirst);
  meet(one, other);
  const auto keys = one.datagram_keys();
  const auto others = other.datagram_keys();
  ASSERT_TRUE(keys && others);
  EXPECT_EQ(keys->own, others->other);
  EXPECT_EQ(keys->other, others->own);
  EXPECT_NE(keys->own, keys->other);
}

TEST(TcpHandshake, WithoutKeysNothingIsSealed) {
  Handshake one = dialler({.rank = 1, .ranks = 2});
  Handshake other = acceptor({.rank = 0, .ranks = 2});
  meet(one, other);
  ASSERT_TRUE(one.is_done() && other.is_done());
  EXPECT_EQ(carry(one.take_writer(), other.take_reader(), "plain"), "plain");
  EXPECT_FALSE(one.datagram_keys());
}

TEST(TcpHandshake, LeavesWhatFollowsIt) {
  Handshake one = dialler(kSecond);
  Handshake other = acceptor(kFirst);
  give(one.take_output(), other);
  give(other.take_output(), one);
  Bytes proof_and_more = one.take_output();
  const std::size_t proof = proof_and_more.size();
  proof_and_more.resize(proof + 10);
  EXPECT_EQ(other.take(proof_and_more), proof);
  EXPECT_TRUE(other.is_done());
}

struct Stranger {
  const char* what;
  Identity who;
  const char* because;
};

TEST(TcpHandshake, BothSidesSayWhyTheyDoNotBelongTogether) {
  static const RunKey other_key(std::string(32, 'b'), "test");
  const Stranger strangers[] = {
      {"key", {.rank = 1, .ranks = 3, .key = &other_key}, "its key is another"},
      {"no key", {.rank = 1, .ranks = 3}, "it has no key"},
      {"run",
       {.rank = 1, .ranks = 3, .run = "b", .key = &key()},
       "belongs to another run"},
      {"ranks",
       {.rank = 1, .ranks = 4, .key = &key()},
       "counts another number of ranks"},
      {"rank", {.rank = 3, .ranks = 3, .key = &key()}, "there is no such rank"},
      {"own",
       {.rank = 0, .ranks = 3, .key = &key()},
       "a rank of that number is there"},
      {"datagrams",
       {.rank = 1, .ranks = 3, .key = &key(), .sends_datagrams = true},
       "it sends datagrams where this one does not"},
  };
  for (const Stranger& each : strangers) {
    Handshake one = dialler(each.who);
    Handshake other = acceptor(kFirst);
    const Ends ends = meet(one, other);
    EXPECT_THAT(ends.of_acceptor, HasSubstr(each.because)) << each.what;
    EXPECT_THAT(ends.of_dialler, HasSubstr("declines")) << each.what;
    EXPECT_FALSE(one.is_done() || other.is_done()) << each.what;
  }
}

TEST(TcpHandshake, WhoIsDeclinedIsToldWhyAndWhatWorks) {
  Handshake one = dialler(kSecond);
  Handshake other = acceptor(kFirst, Verdict::kRankTaken);
  const Ends ends = meet(one, other);
  EXPECT_THAT(ends.of_dialler,
              HasSubstr("tcp: the first declines rank 1, because a rank of "
                        "that number is there already\n  hint: give each"));
  EXPECT_THAT(ends.of_acceptor,
              HasSubstr("tcp: rank 0 declines rank 1 at a guest"));
}

TEST(TcpHandshake, RanksOfAnEarlierRunAreToldApart) {
  Identity first = kFirst;
  Identity second = kSecond;
  first.session = tcp::draw_session();
  second.session = tcp::draw_session();
  Handshake one = dialler(second);
  Handshake other = acceptor(first);
  EXPECT_THAT(meet(one, other).of_acceptor, HasSubstr("an earlier run"));
}

// Flips one bit of what the dialler says, at `place`; true if both are content.
bool is_believed(std::size_t place, bool is_of_proof) {
  Handshake one = dialler(kSecond);
  Handshake other = acceptor(kFirst);
  Bytes hello = one.take_output();
  if (!is_of_proof) hello[place] ^= std::byte{1};
  if (!give(hello, other).empty()) return false;
  if (!give(other.take_output(), one).empty()) return false;
  Bytes proof = one.take_output();
  if (is_of_proof) proof[place] ^= std::byte{1};
  return give(proof, other).empty() && other.is_done();
}

TEST(TcpHandshake, NoBitOfItCanBeChanged) {
  Handshake one = dialler(kSecond);
  const std::size_t hello = one.take_output().size();
  for (std::size_t i = 0; i < hello; ++i) EXPECT_FALSE(is_believed(i, false));
  // A verdict and a proof answer it.
  for (std::size_t i = 0; i < 33; ++i) EXPECT_FALSE(is_believed(i, true)) << i;
}

TEST(TcpHandshake, KnowsAStrangerByItsFirstBytes) {
  Handshake other = acceptor(kFirst);
  const std::string request = "GET";
  test::expect_error(ErrorCode::kDataLoss, {"a guest is no rank of Weft"},
                     [&] { other.take(std::as_bytes(std::span(request))); });
}

}  // namespace
}  // namespace weft::tcp_handshake_test
