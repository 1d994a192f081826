#include "weft/optim/every.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/rounding.h"

namespace weft {

Value is_every(std::int64_t steps, const StepTime& time) {
  const Value& number = time.number;
  return equal(
      remainder(number, scalar_like(number, static_cast<double>(steps))),
      scalar_like(number, 0));
}

}  // namespace weft
