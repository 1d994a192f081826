// The encoder of ternary.h, a vector of values at a time.
//
// Threads: pure functions.
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_COMM_CODEC_TERNARY_PACK_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_COMM_CODEC_TERNARY_PACK_H_
#undef WEFT_COMM_CODEC_TERNARY_PACK_H_
#else
#define WEFT_COMM_CODEC_TERNARY_PACK_H_
#endif

#include "weft/comm/codec/ternary.h"
#include "weft/comm/codec/value_stream.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

// Values first, first + 1, … of which there are `count`, at column `column`
// of part `part`.
struct TernaryPlace {
  std::size_t part;
  std::size_t column;
  std::size_t first;
  std::size_t count;
};

// Fills `packed`, ternary_bytes(values) bytes. quantize(place) returns a
// vector of -1, 0 and 1 as f32, with 0 behind `count`.
template <class Quantize>
void pack_ternary(std::size_t values, std::byte* packed, Quantize&& quantize) {
  namespace hn = simd::hn;
  constexpr float kOffset = 121;  // a one in each of five digits
  const hn::Rebind<std::int32_t, simd::Floats> integers;
  const std::size_t columns = ternary_bytes(values);
  ValueStream::for_each_vector(columns, [&](std::size_t column,
                                            std::size_t lanes) {
    auto digits = simd::broadcast(0);
    for (std::size_t part = 0; part < 5; ++part) {
      const std::size_t first = part * columns + column;
      const std::size_t left = first < values ? values - first : 0;
      auto digit = simd::broadcast(0);
      if (left > 0) {
        digit =
            quantize(TernaryPlace{part, column, first, std::min(lanes, left)});
      }
      digits = hn::MulAdd(digits, simd::broadcast(3), digit);
    }
    const auto code =
        hn::ConvertTo(integers, hn::Add(digits, simd::broadcast(kOffset)));
    store_codes(hn::DemoteTo(ByteCodes(), code), ByteCodes(), packed + column,
                lanes);
  });
}

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
