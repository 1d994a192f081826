#include "weft/nn/positions.h"

#include <cmath>

#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/ops/trigonometry.h"
#include "weft/ops/unary.h"

namespace weft::nn {

Value sinusoidal_positions(Dim length, std::int64_t width) {
  if (width < 2 || width % 2 != 0) {
    throw Error(ErrorCode::kInvalidArgument, "sinusoidal_positions",
                "sines and cosines do not share a width of {}", width);
  }
  const Value position = reshape(cast(iota(length), DType::kF32), {length, 1});
  const Value place = cast(iota(width / 2), DType::kF32);
  // Wavelengths run from 2π to 10000 · 2π (Vaswani et al., section 3.5). Sines
  // come first and cosines behind them, where the paper has them by turns: a
  // linear layer cannot tell.
  const double step = -2 * std::log(10000.0) / static_cast<double>(width);
  const Value angle = position * exp(place * step);
  return concat(std::vector{sin(angle), cos(angle)}, 1);
}

}  // namespace weft::nn
