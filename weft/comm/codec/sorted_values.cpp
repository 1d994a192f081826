#include "weft/comm/codec/sorted_values.h"

#include <algorithm>
#include <bit>

#include "weft/comm/codec/bit_pack.h"

namespace weft {
namespace {

constexpr std::uint32_t kSignBit = 0x80000000u;

// Positions by ascending key(bits of the value).
template <class Key>
std::vector<std::uint32_t> sort_by_key(std::span<const float> values,
                                       Key&& key) {
  // Keys and positions together sort faster than positions that look their
  // keys up.
  std::vector<std::uint64_t> pairs;
  pairs.reserve(values.size());
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t k = key(std::bit_cast<std::uint32_t>(values[i]));
    pairs.push_back(std::uint64_t{k} << 32 | i);
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<std::uint32_t> order;
  order.reserve(values.size());
  for (const std::uint64_t pair : pairs) {
    order.push_back(static_cast<std::uint32_t>(pair));
  }
  return order;
}

int place_bits(std::size_t count) {
  return count < 2 ? 0 : bits_for(count - 1);
}

}  // namespace

SortedBySign sort_by_sign(std::span<const float> values) {
  SortedBySign sorted;
  // The bits of finite floats ascend with the magnitude. With all but the sign
  // flipped, magnitudes descend, and those without a minus sign come first.
  sorted.order =
      sort_by_key(values, [](std::uint32_t bits) { return bits ^ ~kSignBit; });
  sorted.positives = static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](float value) {
        return (std::bit_cast<std::uint32_t>(value) & kSignBit) == 0;
      }));
  return sorted;
}

std::vector<std::uint32_t> sort_by_magnitude(std::span<const float> values) {
  return sort_by_key(values,
                     [](std::uint32_t bits) { return bits & ~kSignBit; });
}

void write_places(std::span<const std::uint32_t> order, ByteWriter& out) {
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    places[order[place]] = place;
  }
  BitWriter packed(out);
  for (const std::uint32_t place : places) {
    packed.put(place, place_bits(order.size()));
  }
  packed.finish();
}

std::vector<std::uint32_t> read_places(ByteReader& in, std::size_t count) {
  const int bits = place_bits(count);
  BitReader packed(in, static_cast<std::size_t>(packed_bytes(count, bits)),
                   "permutation");
  std::vector<std::uint32_t> places(count);
  std::vector<bool> is_taken(count);
  for (std::uint32_t& place : places) {
    place = packed.get(bits);
    // A place that is given twice leaves another one without a value.
    if (place >= count || is_taken[place]) {
      throw packed.damaged("is not one");
    }
    is_taken[place] = true;
  }
  packed.finish();
  return places;
}

}  // namespace weft
