#include "weft/comm/codec/ternary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/ternary.cpp"
#include <hwy/foreach_target.h>

#include "weft/comm/codec/value_stream.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

constexpr int kMostCode = 242;  // five digits of 2

bool unpack(std::span<const std::byte> packed, float scale,
            std::span<float> values) {
  const std::size_t columns = packed.size();
  const hn::Rebind<std::int32_t, simd::Floats> integers;
  auto most = hn::Zero(integers);
  ValueStream::for_each_vector(columns, [&](std::size_t column,
                                            std::size_t lanes) {
    auto code = hn::PromoteTo(
        integers, load_codes(ByteCodes(), packed.data() + column, lanes));
    most = hn::Max(most, code);
    for (std::size_t part = 5; part-- > 0;) {
      // A third, exactly: 3 * 43691 = 2^17 + 1.
      const auto third =
          hn::ShiftRight<17>(hn::Mul(code, hn::Set(integers, 43691)));
      const auto triple = hn::Add(hn::Add(third, third), third);
      const auto digit = hn::Sub(hn::Sub(code, triple), hn::Set(integers, 1));
      code = third;
      const std::size_t first = part * columns + column;
      if (first >= values.size()) continue;
      store_values(
          hn::Mul(hn::ConvertTo(simd::Floats(), digit), simd::broadcast(scale)),
          &values[first], std::min(lanes, values.size() - first));
    }
  });
  // One look at the end, rather than one for each byte, finds damage.
  return hn::GetLane(hn::MaxOfLanes(integers, most)) <= kMostCode;
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

// Codes above those of five digits stand for 2 to 14 such bytes.
constexpr std::uint8_t kZeros = 121;     // five zeros
constexpr std::uint8_t kFirstRun = 243;  // two bytes of zeros
constexpr std::size_t kLongestRun = 14;
constexpr std::uint64_t kZeroWord = kZeros * 0x0101010101010101u;

// Subtracting 1 sets the top bit of a byte that was 0. Without one nothing is
// borrowed, and no byte below 128 gets its top bit set (Mycroft's test).
bool has_zero_byte(std::uint64_t word) {
  return ((word - 0x0101010101010101u) & ~word & 0x8080808080808080u) != 0;
}

}  // namespace

bool unpack_ternary(std::span<const std::byte> packed, float scale,
                    std::span<float> values) {
  WEFT_CHECK(packed.size() == ternary_bytes(values.size()));
  return WEFT_FOR_MACHINE(unpack)(packed, scale, values);
}

std::size_t shorten_zero_runs(std::span<std::byte> bytes) {
  // This works in place: a run is never longer than what it stands for, so
  // writing does not pass reading.
  std::byte* to = bytes.data();
  std::size_t run = 0;
  const auto end_run = [&] {
    for (; run >= kLongestRun; run -= kLongestRun) *to++ = std::byte{255};
    if (run == 1) *to++ = std::byte{kZeros};
    if (run > 1) *to++ = static_cast<std::byte>(kFirstRun + run - 2);
    run = 0;
  };
  std::size_t i = 0;
  while (i < bytes.size()) {
    // Eight at a time while they are alike.
    if (i + 8 <= bytes.size()) {
      std::uint64_t word;
      std::memcpy(&word, &bytes[i], sizeof(word));
      if (word == kZeroWord) {
        run += 8;
        i += 8;
        continue;
      }
      // Not one byte of zeros among the eight: they are copied together.
      if (!has_zero_byte(word ^ kZeroWord)) {
        end_run();
        std::memcpy(to, &word, sizeof(word));
        to += 8;
        i += 8;
        continue;
      }
    }
    for (const std::size_t end = std::min(i + 8, bytes.size()); i < end; ++i) {
      if (bytes[i] == std::byte{kZeros}) {
        ++run;
        continue;
      }
      const std::byte literal = bytes[i];
      end_run();
      *to++ = literal;
    }
  }
  end_run();
  return static_cast<std::size_t>(to - bytes.data());
}

bool expand_zero_runs(std::span<const std::byte> shortened,
                      std::span<std::byte> bytes) {
  std::size_t size = 0;
  for (const std::byte each : shortened) {
    const auto code = std::to_integer<std::uint8_t>(each);
    if (code < kFirstRun) {
      if (size == bytes.size()) return false;
      bytes[size++] = each;
      continue;
    }
    const std::size_t run = code - kFirstRun + 2u;
    if (run > bytes.size() - size) return false;
    std::memset(&bytes[size], kZeros, run);
    size += run;
  }
  return size == bytes.size();
}

}  // namespace weft
#endif
