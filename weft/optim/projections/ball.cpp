// Vectors no longer than a radius: longer ones are shortened to it. Of the
// vectors of incoming weights this is max-norm regularization (Srivastava et
// al., "Dropout", JMLR 2014, section 5.1).
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/optim/projection.h"

namespace weft {

void register_projection_ball(ProjectionRegistry& projections) {
  projections.add(
      {.name = "ball",
       .summary = "vectors no longer than the radius",
       .options = {{"radius", 1.0, "greatest length", {.least = 0}},
                   {"axes", std::vector<std::int64_t>(),
                    "of a vector, as [-1]; none: the parameter is one"}},
       .make = [](const Options& options) -> Projection {
         return [radius = option<double>(options, "radius"),
                 axes = option<std::vector<std::int64_t>>(options, "axes")](
                    const Value& x) {
           const Value length = norm_over(x, axes);
           const Value limit = scalar_like(length, radius);
           // Within the ball nothing is rounded. Divided first, so that no
           // product overflows.
           return where(greater(length, limit), x / length * radius, x);
         };
       }});
}

}  // namespace weft
