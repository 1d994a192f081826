// How two ranks find out whether they belong together, before either believes a
// word of the other.
//
// Both say hello: which rank of how many, of which run, and a public key made
// for this connection (X25519). Where the run has a key, each then proves that
// it has it too: keys of this connection are made from the run's key, the
// secret that the two public keys share, and both hellos (BLAKE2b), and the
// proof is one of them. So a proof is good for one connection and one side, no
// byte of the hellos can be changed unseen, and who learns the run's key later
// reads nothing of what was recorded before. Without a key hellos are all there
// is, and nothing is sealed.
//
// It takes and makes bytes, and knows no socket.
//
// Threads: caller synchronises.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/tcp/datagram.h"
#include "weft/comm/tcp/record.h"
#include "weft/comm/tcp/run_key.h"

namespace weft::tcp {

// A number that the first rank draws, so that ranks of an earlier run with the
// same name and key are told apart.
using Session = std::array<std::uint8_t, 16>;
Session draw_session();

// Who this rank is.
struct Identity {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::string run = {};  // a name; ranks of another run have another
  Session session = {};  // zeros: not known yet
  const RunKey* key = nullptr;
  // Whether messages that may arrive in part go as datagrams: all or none do.
  bool sends_datagrams = false;
};

// Why a rank is not let in, or that it is.
enum class Verdict : std::uint8_t {
  kWelcome,
  kOtherVersion,
  kOtherRun,
  kOtherSession,
  kOtherRanks,
  kNoKey,
  kUnwantedKey,
  kOtherKey,
  kNoSuchRank,
  kRankTaken,
  kOtherDatagrams,
};

struct PeerHello {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  Session session = {};
};

class Handshake {
 public:
  enum class Side : std::uint8_t { kDialler, kAcceptor };
  // What else decides, once the hello is found in order.
  using Judge = std::function<Verdict(const PeerHello&)>;

  // `peer` names the other side in errors. What `self` points to must outlive
  // this.
  Handshake(Side side, const Identity& self, std::string peer, Judge judge);
  ~Handshake();
  Handshake(Handshake&&) = default;
  Handshake& operator=(Handshake&&) = default;

  // What is to be sent; to be asked for at first, after each take(), and when
  // that has thrown, as the peer is told why.
  Bytes take_output() { return std::exchange(output_, {}); }
  // Takes of `bytes` what belongs to the handshake, and says how many that
  // were: what follows are records. Throws Error(kDataLoss) for what is no
  // handshake and Error(kUnavailable) where either side declines the other,
  // with the reason.
  std::size_t take(std::span<const std::byte> bytes);

  bool is_done() const { return state_ == State::kDone; }
  // Once the hello has come.
  const PeerHello& peer() const { return hello_; }
  // Once it is done, and each once.
  RecordWriter take_writer() { return std::move(writer_); }
  RecordReader take_reader() { return std::move(reader_); }
  // Nothing where the run has no key.
  std::optional<DatagramKeys> datagram_keys() const;

 private:
  enum class State : std::uint8_t { kHello, kProof, kDone };

  void hear_hello();
  void hear_proof();
  Verdict judge_hello(std::uint16_t version, std::uint8_t flags,
                      std::span<const std::byte> run) const;
  void make_keys(const unsigned char* peer_public_key);
  void write_answer(Verdict verdict);
  [[noreturn]] void decline(Verdict verdict);

  Side side_;
  Identity self_;
  std::string peer_;
  Judge judge_;
  State state_ = State::kHello;
  std::array<unsigned char, 32> secret_key_ = {};
  Bytes own_hello_;
  Bytes heard_;  // of the message that is coming
  Bytes output_;
  PeerHello hello_;
  // What only the two of them can know; of each side, the dialler first.
  std::array<SealKey, 2> proofs_ = {};
  std::array<SealKey, 2> streams_ = {};
  std::array<SealKey, 2> datagrams_ = {};
  RecordWriter writer_;
  RecordReader reader_;
};

}  // namespace weft::tcp
