#include "weft/nn/dropout.h"

#include "weft/base/error.h"
#include "weft/graph/surroundings.h"
#include "weft/nn/scope.h"
#include "weft/ops/random.h"

namespace weft::nn {

Dropout::Dropout(double rate) : rate_(rate) {
  // The comparisons are written so that NaN fails them. A rate of 1 would scale
  // by 1 / 0.
  if (!(rate >= 0 && rate < 1)) {
    throw Error(ErrorCode::kInvalidArgument, "dropout",
                "the rate must be in [0, 1), not {}", rate);
  }
}

Value Dropout::forward(const Value& x) {
  if (!is_training() || rate_ == 0) return x;
  return dropout(x, RandomKeyScope::current(), random_stream(), rate_);
}

}  // namespace weft::nn
