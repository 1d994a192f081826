// What an encoder of quantized values reads and leaves, a vector at a time:
// the values, or gradient + memory, and the residual.
//
// Threads: value types; caller synchronises.
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_COMM_CODEC_VALUE_STREAM_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_COMM_CODEC_VALUE_STREAM_H_
#undef WEFT_COMM_CODEC_VALUE_STREAM_H_
#else
#define WEFT_COMM_CODEC_VALUE_STREAM_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "weft/comm/codec/magnitude.h"
#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

class ValueStream {
 public:
  // `residual` may be empty, or `values` itself.
  ValueStream(std::span<const float> values, std::span<float> residual)
      : values_(values),
        residual_(residual.empty() ? nullptr : residual.data()) {}
  // Sums, whose residual replaces the memory.
  ValueStream(std::span<const float> gradient, std::span<float> memory,
              float largest)
      : values_(gradient),
        memory_(memory.data()),
        residual_(memory.data()),
        largest_(largest) {}

  std::size_t size() const { return values_.size(); }
  // The largest magnitude: one pass, unless it was given.
  float largest() const {
    return memory_ == nullptr ? largest_magnitude(values_) : largest_;
  }

  // Values i, i + 1, … of which there are `count` <= kLanes; zeros behind.
  simd::Vector load(std::size_t i, std::size_t count) const {
    const auto value = load(values_.data() + i, count);
    return memory_ == nullptr ? value
                              : simd::hn::Add(value, load(memory_ + i, count));
  }
  // Their residual.
  void keep(simd::Vector left, std::size_t i, std::size_t count) const {
    if (residual_ == nullptr) return;
    if (count == simd::kLanes) {
      simd::store(left, residual_ + i);
    } else {
      simd::store_part(left, residual_ + i, count);
    }
  }
  // All of them.
  void keep_all() const {
    for_each_vector(size(), [&](std::size_t i, std::size_t count) {
      keep(load(i, count), i, count);
    });
  }

  // Calls body(i, count) for vectors that cover [0, size).
  template <class Body>
  static void for_each_vector(std::size_t size, Body&& body) {
    std::size_t i = 0;
    for (; i + simd::kLanes <= size; i += simd::kLanes) body(i, simd::kLanes);
    if (i < size) body(i, size - i);
  }

 private:
  static simd::Vector load(const float* from, std::size_t count) {
    return count == simd::kLanes ? simd::load(from)
                                 : simd::load_part(from, count, 0.0f);
  }

  std::span<const float> values_;
  const float* memory_ = nullptr;
  float* residual_;
  float largest_ = 0;
};

// Vectors of codes of one byte.
using ByteCodes = simd::hn::Rebind<std::uint8_t, simd::Floats>;
using SignedByteCodes = simd::hn::Rebind<std::int8_t, simd::Floats>;

// The first `count` <= kLanes codes; zeros behind. Tag: one of the above.
template <class Tag>
auto load_codes(Tag tag, const std::byte* from, std::size_t count) {
  using Code = simd::hn::TFromD<Tag>;
  if (count == simd::kLanes) {
    return simd::hn::LoadU(tag, reinterpret_cast<const Code*>(from));
  }
  std::array<Code, simd::kLanes> part{};
  std::memcpy(part.data(), from, count);
  return simd::hn::LoadU(tag, part.data());
}
template <class Tag>
void store_codes(simd::hn::Vec<Tag> codes, Tag tag, std::byte* to,
                 std::size_t count) {
  using Code = simd::hn::TFromD<Tag>;
  if (count == simd::kLanes) {
    return simd::hn::StoreU(codes, tag, reinterpret_cast<Code*>(to));
  }
  std::array<Code, simd::kLanes> part;
  simd::hn::StoreU(codes, tag, part.data());
  std::memcpy(to, part.data(), count);
}

inline void store_values(simd::Vector values, float* to, std::size_t count) {
  if (count == simd::kLanes) {
    simd::store(values, to);
  } else {
    simd::store_part(values, to, count);
  }
}

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
