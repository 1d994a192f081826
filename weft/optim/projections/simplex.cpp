// Vectors of numbers that are not below zero and add up to a total, as
// probabilities do (Duchi et al., "Efficient projections onto the l1-ball for
// learning in high dimensions", ICML 2008, figure 1): with the elements sorted,
// the largest first,
//
//   t = max over k of (u_1 + … + u_k - total) / k,   x <- max(x - t, 0)
//
// The paper's k is the last with u_k > (u_1 + … + u_k - total) / k, where this
// quotient is greatest: up to it each u_k pulls the mean up, and beyond it
// down.
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/running.h"
#include "weft/ops/sort.h"
#include "weft/ops/unary.h"
#include "weft/optim/projection.h"

namespace weft {
namespace {

// 1, 2, … along the axis.
Value counts_along(const Shape& shape, int axis) {
  Shape along;
  along.resize(shape.rank(), 1);
  along[axis] = shape[axis];
  return reshape(iota(shape[axis], DType::kF64) + 1.0, along);
}

Value onto_simplex(const Value& x, double total, std::int64_t wanted_axis) {
  const int axis = normalize_axis(wanted_axis, x.shape().rank(), "simplex");
  // Sums of thousands of elements have to come out as the total.
  const Value exact = to_dtype(x, DType::kF64);
  const Value sorted = sort(exact, /*descending=*/true, axis).first;
  const Value excess = cumsum(sorted, axis) - total;
  const Value threshold = reduce_max(excess / counts_along(x.shape(), axis),
                                     {axis}, /*keep_dims=*/true);
  const Value moved = exact - threshold;
  return to_dtype(maximum(moved, scalar_like(moved, 0)), x.dtype());
}

}  // namespace

void register_projection_simplex(ProjectionRegistry& projections) {
  projections.add(
      {.name = "simplex",
       .summary = "vectors of numbers from 0 that add up to the total",
       .options =
           {{"total", 1.0, "their sum", {.least = 0, .is_open_below = true}},
            {"axis", std::int64_t{-1}, "along which a vector lies"}},
       .make = [](const Options& options) -> Projection {
         return [total = option<double>(options, "total"),
                 axis = option<std::int64_t>(options, "axis")](const Value& x) {
           return onto_simplex(x, total, axis);
         };
       }});
}

}  // namespace weft
