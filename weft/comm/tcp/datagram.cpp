#include "weft/comm/tcp/datagram.h"

#include <cstring>
#include <limits>

namespace weft::tcp {
namespace {

// In the clear: who sends, and the number that is the nonce.
constexpr std::size_t kOutside = sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t kInside =
    3 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
static_assert(kMostDatagram ==
              kOutside + kInside + PartMap::kPartBytes + kSealBytes);

// Datagrams that overtake each other by more than this are lost.
constexpr std::uint64_t kOvertaking = 1 << 14;

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
  const std::uint64_t number = number_++;
  if (!sealer_) return;
  const std::size_t size = out.size();
  writer.room(kSealBytes);
  const std::span<std::byte> whole = out;
  sealer_->begin(number);
  sealer_->show(whole.first(kOutside));
  const auto inside = whole.subspan(kOutside, size - kOutside);
  sealer_->hide(inside, inside.data());
  sealer_->end(whole.data() + size);
}

DatagramOpener::DatagramOpener(const std::optional<SealKey>& key)
    : opener_(key), seen_(kOvertaking) {}

std::optional<Datagram> DatagramOpener::open(
    std::span<const std::byte> sealed) {
  const std::size_t seal = opener_ ? kSealBytes : 0;
  if (sealed.size() < kOutside + kInside + seal) return std::nullopt;
  std::uint64_t number = 0;
  std::memcpy(&number, sealed.data() + sizeof(std::uint32_t), sizeof(number));
  if (!is_new(number)) return std::nullopt;
  const auto inside = sealed.subspan(kOutside);
  opened_.assign(inside.begin(), inside.end());
  if (opener_ && !opener_->open(number, sealed.first(kOutside), opened_)) {
    return std::nullopt;
  }
  // Only what its sender has sealed may move the window.
  note(number);
  const std::span<const std::byte> plain = opened_;
  ByteReader reader(plain.first(plain.size() - seal), "datagram");
  Datagram datagram;
  datagram.tag = reader.read<Tag>("tag");
  datagram.message = reader.read<std::uint32_t>("message");
  datagram.part = reader.read<std::uint32_t>("part");
  datagram.bytes = reader.read<std::uint64_t>("bytes");
  datagram.payload = reader.take(reader.remaining(), "payload");
  return datagram;
}

bool DatagramOpener::is_new(std::uint64_t number) const {
  // No sender comes so far, and none could be above it.
  if (number == std::numeric_limits<std::uint64_t>::max()) return false;
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
