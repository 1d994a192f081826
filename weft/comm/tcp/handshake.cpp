#include "weft/comm/tcp/handshake.h"

#include <algorithm>
#include <sodium.h>

#include "weft/base/refusal.h"
#include "weft/comm/tcp/raw_bytes.h"

namespace weft::tcp {
namespace {

constexpr std::string_view kMagic = "weft-tcp";
constexpr std::uint16_t kProtocol = 3;
// What a hello says of its side, in one byte.
constexpr std::uint8_t kHasKey = 1;
constexpr std::uint8_t kSendsDatagrams = 2;
constexpr std::size_t kRunBytes = 16;
constexpr std::size_t kPublicKeyBytes = crypto_scalarmult_BYTES;
constexpr std::size_t kHelloBytes = kMagic.size() + sizeof(kProtocol) + 1 +
                                    2 * sizeof(std::uint32_t) + kRunBytes +
                                    sizeof(Session) + kPublicKeyBytes;
// A verdict and a proof.
constexpr std::size_t kAnswerBytes = 1 + sizeof(SealKey);

// How one is told what is wrong with the other, and what would be right.
struct Reason {
  std::string_view because;
  std::string_view instead;
};

// The order is that of Verdict.
constexpr Reason kReasons[] = {
    {"it is welcome", ""},
    {"it speaks another version of the protocol",
     "start every rank with the same Weft"},
    {"it belongs to another run", "the same run=NAME at every rank"},
    {"it belongs to an earlier run", "start all ranks anew"},
    {"it counts another number of ranks", "the same ranks=N at every rank"},
    {"it has no key", "give every rank the same key, by WEFT_KEY or key=FILE"},
    {"it has a key, and the other has none",
     "give every rank the same key, by WEFT_KEY or key=FILE"},
    {"its key is another one",
     "give every rank the same key, by WEFT_KEY or key=FILE"},
    {"there is no such rank here", "give each rank a number of its own"},
    {"a rank of that number is there already",
     "give each rank a number of its own, and each run a port"},
    {"it sends datagrams where this one does not, or the other way round",
     "the same datagrams=true, or none, at every rank"},
};

Refusal refusal_of(std::string what, Verdict verdict) {
  const Reason& reason = kReasons[static_cast<std::size_t>(verdict)];
  return {std::move(what), std::string(reason.because),
          std::string(reason.instead)};
}

std::array<unsigned char, kRunBytes> digest_of(const std::string& run) {
  std::array<unsigned char, kRunBytes> digest;
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(run.data()),
                     run.size(), nullptr, 0);
  return digest;
}

std::span<const std::byte> bytes_of(const auto& array) {
  return std::as_bytes(std::span(array));
}

SealKey subkey(std::uint64_t number, const SealKey& master) {
  SealKey key;
  crypto_kdf_derive_from_key(key.data(), key.size(), number, kMagic.data(),
                             master.data());
  return key;
}

// Sodium finds out once what the processor can do.
void start_sodium() {
  if (sodium_init() < 0) {
    throw Error(ErrorCode::kUnavailable, "tcp", "libsodium does not start");
  }
}

}  // namespace

Session draw_session() {
  start_sodium();
  Session session;
  randombytes_buf(session.data(), session.size());
  return session;
}

Handshake::Handshake(Side side, const Identity& self, std::string peer,
                     Judge judge)
    : side_(side),
      self_(self),
      peer_(std::move(peer)),
      judge_(std::move(judge)) {
  start_sodium();
  std::array<unsigned char, kPublicKeyBytes> public_key = {};
  if (self_.key != nullptr) {
    randombytes_buf(secret_key_.data(), secret_key_.size());
    crypto_scalarmult_base(public_key.data(), secret_key_.data());
  }
  ByteWriter hello(own_hello_);
  hello.write_all(bytes_of(kMagic));
  hello.write(kProtocol);
  hello.write(
      static_cast<std::uint8_t>((self_.key != nullptr ? kHasKey : 0) |
                                (self_.sends_datagrams ? kSendsDatagrams : 0)));
  hello.write(self_.rank);
  hello.write(self_.ranks);
  hello.write_all(bytes_of(digest_of(self_.run)));
  hello.write_all(bytes_of(self_.session));
  hello.write_all(bytes_of(public_key));
  output_ = own_hello_;
}

Handshake::~Handshake() {
  sodium_memzero(secret_key_.data(), secret_key_.size());
  sodium_memzero(proofs_.data(), sizeof(proofs_));
  sodium_memzero(streams_.data(), sizeof(streams_));
  sodium_memzero(datagrams_.data(), sizeof(datagrams_));
}

std::size_t Handshake::take(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (state_ != State::kDone) {
    const bool is_hello = state_ == State::kHello;
    const std::size_t missing =
        (is_hello ? kHelloBytes : kAnswerBytes) - heard_.size();
    const auto piece =
        bytes.subspan(taken).first(std::min(missing, bytes.size() - taken));
    heard_.insert(heard_.end(), piece.begin(), piece.end());
    taken += piece.size();
    // Who speaks another language may say little, and wait for an answer.
    if (is_hello) {
      const std::size_t begun = std::min(heard_.size(), kMagic.size());
      if (!std::ranges::equal(std::span(heard_).first(begun),
                              bytes_of(kMagic).first(begun))) {
        throw Error(ErrorCode::kDataLoss, "tcp", "{} is no rank of Weft",
                    peer_);
      }
    }
    if (piece.size() < missing) break;
    if (is_hello) {
      hear_hello();
    } else {
      hear_proof();
    }
    heard_.clear();
  }
  return taken;
}

void Handshake::hear_hello() {
  ByteReader reader(heard_, "hello");
  reader.take(kMagic.size(), "magic");
  const auto version = reader.read<std::uint16_t>("version");
  const auto flags = reader.read<std::uint8_t>("flags");
  hello_.rank = reader.read<std::uint32_t>("rank");
  hello_.ranks = reader.read<std::uint32_t>("ranks");
  const auto run = reader.take(kRunBytes, "run");
  std::memcpy(hello_.session.data(),
              reader.take(sizeof(Session), "session").data(), sizeof(Session));
  const auto public_key = reader.take(kPublicKeyBytes, "public key");
  if (const Verdict verdict = judge_hello(version, flags, run);
      verdict != Verdict::kWelcome) {
    decline(verdict);
  }
  if (self_.key != nullptr) make_keys(raw(public_key.data()));
  write_answer(Verdict::kWelcome);
  state_ = State::kProof;
}

Verdict Handshake::judge_hello(std::uint16_t version, std::uint8_t flags,
                               std::span<const std::byte> run) const {
  constexpr Session kUnknown = {};
  const bool is_known = self_.session != kUnknown && hello_.session != kUnknown;
  if (version != kProtocol) return Verdict::kOtherVersion;
  const bool has_key = (flags & kHasKey) != 0;
  if (!has_key && self_.key != nullptr) return Verdict::kNoKey;
  if (has_key && self_.key == nullptr) return Verdict::kUnwantedKey;
  if (!std::ranges::equal(run, bytes_of(digest_of(self_.run)))) {
    return Verdict::kOtherRun;
  }
  if (is_known && hello_.session != self_.session) {
    return Verdict::kOtherSession;
  }
  if (hello_.ranks != self_.ranks) return Verdict::kOtherRanks;
  if (hello_.rank >= self_.ranks) return Verdict::kNoSuchRank;
  if (hello_.rank == self_.rank) return Verdict::kRankTaken;
  if (((flags & kSendsDatagrams) != 0) != self_.sends_datagrams) {
    return Verdict::kOtherDatagrams;
  }
  return judge_(hello_);
}

void Handshake::make_keys(const unsigned char* peer_public_key) {
  std::array<unsigned char, crypto_scalarmult_BYTES> secret;
  // A public key that would make the secret a known one is no accident.
  if (crypto_scalarmult(secret.data(), secret_key_.data(), peer_public_key) !=
      0) {
    decline(Verdict::kOtherKey);
  }
  const bool is_dialler = side_ == Side::kDialler;
  const Bytes& first = is_dialler ? own_hello_ : heard_;
  const Bytes& second = is_dialler ? heard_ : own_hello_;
  SealKey master;
  crypto_generichash_state state;
  crypto_generichash_init(&state, self_.key->bytes().data(),
                          self_.key->bytes().size(), master.size());
  crypto_generichash_update(&state, secret.data(), secret.size());
  crypto_generichash_update(&state, raw(first.data()), first.size());
  crypto_generichash_update(&state, raw(second.data()), second.size());
  crypto_generichash_final(&state, master.data(), master.size());
  for (std::size_t side = 0; side < 2; ++side) {
    proofs_[side] = subkey(1 + side, master);
    streams_[side] = subkey(3 + side, master);
    datagrams_[side] = subkey(5 + side, master);
  }
  sodium_memzero(secret.data(), secret.size());
  sodium_memzero(master.data(), master.size());
}

std::optional<DatagramKeys> Handshake::datagram_keys() const {
  if (self_.key == nullptr) return std::nullopt;
  const auto own = static_cast<std::size_t>(side_);
  return DatagramKeys{datagrams_[own], datagrams_[1 - own]};
}

void Handshake::write_answer(Verdict verdict) {
  const auto own = static_cast<std::size_t>(side_);
  SealKey proof = {};
  if (verdict == Verdict::kWelcome && self_.key != nullptr) {
    proof = proofs_[own];
    writer_ = RecordWriter(streams_[own]);
  }
  ByteWriter answer(output_);
  answer.write(static_cast<std::uint8_t>(verdict));
  answer.write_all(bytes_of(proof));
}

void Handshake::hear_proof() {
  ByteReader reader(heard_, "answer");
  const auto verdict = reader.read<std::uint8_t>("verdict");
  if (verdict >= std::size(kReasons)) {
    throw reader.damaged("verdict", "is none that there is");
  }
  if (static_cast<Verdict>(verdict) != Verdict::kWelcome) {
    throw refused("tcp", peer_,
                  refusal_of(fmt::format("rank {}", self_.rank),
                             static_cast<Verdict>(verdict)),
                  ErrorCode::kUnavailable);
  }
  const auto proof = reader.take(sizeof(SealKey), "proof");
  if (self_.key != nullptr) {
    const auto other = 1 - static_cast<std::size_t>(side_);
    // In the same time wherever they differ, which would tell a guesser how far
    // he has come.
    if (sodium_memcmp(proof.data(), proofs_[other].data(), proof.size()) != 0) {
      decline(Verdict::kOtherKey);
    }
    reader_ = RecordReader(streams_[other]);
  }
  state_ = State::kDone;
}

void Handshake::decline(Verdict verdict) {
  // Who has been sent an answer already finds out by itself.
  if (state_ == State::kHello) write_answer(verdict);
  throw refused(
      "tcp", fmt::format("rank {}", self_.rank),
      refusal_of(fmt::format("rank {} at {}", hello_.rank, peer_), verdict),
      ErrorCode::kUnavailable);
}

}  // namespace weft::tcp
