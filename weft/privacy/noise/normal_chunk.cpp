#include "weft/privacy/noise/normal_chunk.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/privacy/noise/normal_chunk.cpp"
#include <hwy/foreach_target.h>
#include <numbers>

#include "weft/kernels/simd/quarter_turn.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using simd::broadcast_double;
using simd::Doubles;
using simd::DoubleVector;
using NoiseWords = hn::ScalableTag<std::uint64_t>;

// The 52 highest bits as a number of [1, 2).
DoubleVector from_one_to_two(hn::Vec<NoiseWords> words) {
  const auto one = hn::BitCast(NoiseWords(), broadcast_double(1));
  return hn::BitCast(Doubles(), hn::Or(hn::ShiftRight<12>(words), one));
}

struct NormalPair {
  DoubleVector x, y;
};

// Box and Muller: the radius of a number of (0, 1], and an angle within an
// eighth of a turn from an axis, which the second word's lowest two bits
// choose.
NormalPair normal_pair(hn::Vec<NoiseWords> first, hn::Vec<NoiseWords> second) {
  const auto u = hn::Sub(broadcast_double(2), from_one_to_two(first));
  const auto radius =
      hn::Sqrt(hn::Mul(broadcast_double(-2), hn::Log(Doubles(), u)));
  const auto angle =
      hn::Mul(hn::Sub(from_one_to_two(second), broadcast_double(1.5)),
              broadcast_double(std::numbers::pi / 2));
  const auto across = hn::Mul(radius, simd::quarter_sine(angle));
  const auto sign = hn::And(hn::BitCast(Doubles(), hn::ShiftLeft<62>(second)),
                            hn::SignBit(Doubles()));
  const auto along =
      hn::Xor(hn::Mul(radius, simd::quarter_cosine(angle)), sign);
  const auto is_y =
      hn::RebindMask(Doubles(), hn::TestBit(second, hn::Set(NoiseWords(), 1u)));
  return {hn::IfThenElse(is_y, across, along),
          hn::IfThenElse(is_y, along, across)};
}

void add_all(const std::uint64_t* words, float* values, std::size_t count,
             double deviation, double grid) {
  const NoiseWords d;
  const Doubles doubles;
  const hn::Rebind<float, Doubles> floats;
  const std::size_t lanes = hn::Lanes(d);
  const auto in_grids = broadcast_double(1 / grid);
  const auto one_grid = broadcast_double(grid);
  const auto scale = broadcast_double(deviation);
  const auto add = [&](DoubleVector normal, float* value) {
    const auto before = hn::PromoteTo(doubles, hn::LoadU(floats, value));
    const auto sum = hn::MulAdd(normal, scale, before);
    const auto rounded = hn::Mul(hn::Round(hn::Mul(sum, in_grids)), one_grid);
    hn::StoreU(hn::DemoteTo(floats, rounded), floats, value);
  };
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    const NormalPair pair =
        normal_pair(hn::LoadU(d, words + i), hn::LoadU(d, words + i + lanes));
    add(pair.x, values + i);
    add(pair.y, values + i + lanes);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::privacy {

void add_normals(const std::uint64_t* words, float* values, std::size_t count,
                 double deviation, double grid) {
  WEFT_FOR_MACHINE(add_all)(words, values, count, deviation, grid);
}

}  // namespace weft::privacy
#endif
