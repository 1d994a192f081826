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

std::int64_t require_count(const Options& options, std::string_view name,
                           std::string_view owner) {
  const auto count = option<std::int64_t>(options, name);
  if (count >= 1) return count;
  throw Error(ErrorCode::kInvalidArgument, std::string(owner),
              "{} = {} must be at least 1", name, count);
}

}  // namespace weft
