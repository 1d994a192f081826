// Each element between two bounds.
#include "weft/ops/unary.h"
#include "weft/optim/projection.h"

namespace weft {

void register_projection_box(ProjectionRegistry& projections) {
  projections.add(
      {.name = "box",
       .summary = "each element between two bounds",
       .options = {{"min", -1.0, "the least that an element may be"},
                   {"max", 1.0, "the most"}},
       .make = [](const Options& options) -> Projection {
         const auto min = option<double>(options, "min");
         const auto max = option<double>(options, "max");
         if (!(min <= max)) {
           throw Error(ErrorCode::kInvalidArgument, "box",
                       "min = {} is above max = {}", min, max);
         }
         return [=](const Value& x) { return clamp(x, min, max); };
       }});
}

}  // namespace weft
