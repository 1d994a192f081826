// Vectors of one length: each becomes as long, in its own direction. To zero
// all of the sphere is equally near; it becomes the vector whose elements are
// equal.
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/optim/projection.h"

namespace weft {

void register_projection_sphere(ProjectionRegistry& projections) {
  projections.add(
      {.name = "sphere",
       .summary = "vectors as long as the radius, as the rows of a table",
       .options = {{"radius",
                    1.0,
                    "their length",
                    {.least = 0, .is_open_below = true}},
                   {"axes", std::vector<std::int64_t>{-1},
                    "of a vector; none: the parameter is one"}},
       .make = [](const Options& options) -> Projection {
         return [radius = option<double>(options, "radius"),
                 axes = option<std::vector<std::int64_t>>(options, "axes")](
                    const Value& x) {
           const Value length = norm_over(x, axes);
           const Value is_zero = equal(length, scalar_like(length, 0));
           const Value y = where(is_zero, scalar_like(x, 1), x);
           return y / norm_over(y, axes) * radius;
         };
       }});
}

}  // namespace weft
