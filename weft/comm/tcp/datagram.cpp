#include "weft/comm/tcp/datagram.h"

#include <cstring>

#include "weft/comm/tcp/sodium_bytes.h"

namespace weft::tcp {
namespace {

// In the clear: who sends, and the number that is the nonce.
constexpr std::size_t kOutside = sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t kInside =
    3 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t kSeal = crypto_aead_chacha20poly1305_IETF_ABYTES;
static_assert(kMostDatagram ==
              kOutside + kInside + PartMap::kPartBytes + kSeal);

// Datagrams that overtake each other by more than this are lost.
constexpr std::uint64_t kOvertaking = 1 << 14;

using Nonce =
    std::array<unsigned char, crypto_aead_chacha20poly1305_IETF_NPUBBYTES>;

Nonce nonce_of(std::uint64_t number) {
  Nonce nonce = {};
  std::memcpy(nonce.data() + nonce.size() - sizeof(number), &number,
              sizeof(number));
  return nonce;
}

}  // namespace

std::optional<std::uint32_t> sender_of(std::span<const std::byte> datagram) {
  if (datagram.size() < kOutside + kInside) return std::nullopt;
  std::uint32_t rank = 0;
  std::memcpy(&rank, datagram.data(), sizeof(rank));
  return rank;
}

void DatagramSealer::seal(const Datagram& datagram, Bytes& out) {
  out.clear();
  ByteWriter writer(out);
  writer.write(rank_);
  writer.write(number_);
  writer.write(datagram.tag);
  writer.write(datagram.message);
  writer.write(datagram.part);
  writer.write(datagram.bytes);
  writer.write_all(datagram.payload);
  const Nonce nonce = nonce_of(number_++);
  if (!key_) return;
  const std::size_t size = out.size() - kOutside;
  out.resize(out.size() + kSeal);
  unsigned char* inside = raw(out.data() + kOutside);
  crypto_aead_chacha20poly1305_ietf_encrypt(inside, nullptr, inside, size,
                                            raw(out.data()), kOutside, nullptr,
                                            nonce.data(), key_->data());
}

DatagramOpener::DatagramOpener(std::optional<DatagramKey> key)
    : key_(key), seen_(kOvertaking) {}

std::optional<Datagram> DatagramOpener::open(
    std::span<const std::byte> sealed) {
  if (sealed.size() < kOutside + kInside + (key_ ? kSeal : 0)) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  std::memcpy(&number, sealed.data() + sizeof(std::uint32_t), sizeof(number));
  if (!is_new(number)) return std::nullopt;
  const auto inside = sealed.subspan(kOutside);
  plain_.resize(inside.size() - (key_ ? kSeal : 0));
  if (!key_) {
    std::ranges::copy(inside, plain_.begin());
  } else if (crypto_aead_chacha20poly1305_ietf_decrypt(
                 raw(plain_.data()), nullptr, nullptr, raw(inside.data()),
                 inside.size(), raw(sealed.data()), kOutside,
                 nonce_of(number).data(), key_->data()) != 0) {
    return std::nullopt;
  }
  // Only what its sender has sealed may move the window.
  note(number);
  ByteReader reader(plain_, "datagram");
  Datagram datagram;
  datagram.tag = reader.read<Tag>("tag");
  datagram.message = reader.read<std::uint32_t>("message");
  datagram.part = reader.read<std::uint32_t>("part");
  datagram.bytes = reader.read<std::uint64_t>("bytes");
  datagram.payload = reader.take(reader.remaining(), "payload");
  return datagram;
}

bool DatagramOpener::is_new(std::uint64_t number) const {
  if (number >= next_) return true;
  return next_ - number <= kOvertaking && !seen_[number % kOvertaking];
}

void DatagramOpener::note(std::uint64_t number) {
  // Those that were left out may still come.
  for (std::uint64_t i = 0; next_ <= number; ++next_, ++i) {
    if (i < kOvertaking) seen_[next_ % kOvertaking] = false;
    if (i == kOvertaking) next_ = number;
  }
  seen_[number % kOvertaking] = true;
}

}  // namespace weft::tcp
