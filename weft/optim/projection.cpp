#include "weft/optim/projection.h"

#include "weft/base/call_reader.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"

namespace weft {

Projection make_projection(std::string_view text) {
  const auto call = parse_call(text, projection_registry(), "projection");
  return call.def->make(call.options);
}

Value norm_over(const Value& x, const std::vector<std::int64_t>& axes) {
  const Value largest = reduce_max(abs(x), axes, /*keep_dims=*/true);
  // Where all is zero, so is the norm, whatever it is divided by.
  const Value unit = where(equal(largest, scalar_like(largest, 0)),
                           scalar_like(largest, 1), largest);
  return unit * sqrt(sum(square(x / unit), axes, /*keep_dims=*/true));
}

}  // namespace weft
