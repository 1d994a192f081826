#include <algorithm>

#include "weft/compiler/pass.h"
#include "weft/graph/known_ops.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

// Whether `shape`, broadcast to `whole`, repeats along all of `axes`.
bool repeats_along(const Shape& shape, const Shape& whole,
                   const Integers& axes) {
  const auto is_one = [&](int axis) {
    const int own = axis - (whole.rank() - shape.rank());
    return own < 0 || shape[own] == 1;
  };
  if (axes.empty()) return shape.num_elements() == 1;
  return std::all_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    return is_one(normalize_axis(axis, whole.rank(), "sum"));
  });
}

// Programs scale by one number, of their own or an argument, before they add,
// so that the sum stays in the range of its dtype; within a loop that costs
// nothing. Sums in f16 soon leave its range without any factor.
bool may_overflow(const Value& factor) {
  return factor.shape().num_elements() == 1 || factor.dtype() == DType::kF16;
}

// sum(a * c) is sum(a) * c where c does not change along the summed axes: the
// gradients of a normalisation, whose c are channels' factors, then share their
// sums.
std::optional<std::vector<Value>> hoist_factor(Rewriter& rewriter,
                                               OpApplication& application) {
  const Value& x = application.operands[0];
  const Node* product = rewriter.node_of(x);
  if (product == nullptr || *product->op != known::multiply) {
    return std::nullopt;
  }
  const std::vector<ValueId> inputs = product->inputs;
  const Integers& axes = application.attributes.integers("axes");
  for (const std::size_t n : {0u, 1u}) {
    const Value factor(rewriter, inputs[n]);
    const Value rest(rewriter, inputs[1 - n]);
    // The product must take its shape from the other operand, or the sum of
    // that one would be over fewer elements.
    if (!(rest.shape() == x.shape()) || factor.shape() == x.shape() ||
        !repeats_along(factor.shape(), x.shape(), axes) ||
        may_overflow(factor)) {
      continue;
    }
    const ContextScope context(rewriter);
    const bool keep = application.attributes.flag("keep_dims");
    // The summed axes are kept, so that the factor still stands along its own.
    const Value total = sum(rest, axes, /*keep_dims=*/true);
    const Value scaled = total * factor;
    if (keep && scaled.shape() == total.shape()) return std::vector{scaled};
    return std::vector{reshape(scaled, sum(rest, axes, keep).shape())};
  }
  return std::nullopt;
}

}  // namespace

void register_pass_hoist_factors(PassRegistry& passes) {
  passes.add({
      .name = "hoist_factors",
      .summary = "takes a factor out of a sum that repeats it",
      .order = 70,
      .ops = {"sum"},
      // It adds before it multiplies.
      .keeps_bits = false,
      .rewrite = hoist_factor,
      .samples = {{R"(func @f(%0: f32[8, 4], %1: f32[4]) -> (f32[4]) {
    %2 = multiply(%0, %1) : f32[8, 4]
    %3 = sum(%2) {axes = [0]} : f32[4]
    return %3
  })",
                   R"(func @f(%0: f32[8, 4], %1: f32[4]) -> (f32[4]) {
    %2 = sum(%0) {axes = [0], keep_dims = true} : f32[1, 4]
    %3 = multiply(%2, %1) : f32[1, 4]
    %4 = reshape(%3) {shape = shape[4]} : f32[4]
    return %4
  })"},
                  // The sum without the factor might leave f32.
                  {R"(func @f(%0: f32[8, 4]) -> (f32[4]) {
    %1 = full() {shape = shape[], value = 0.001} : f32[]
    %2 = multiply(%0, %1) : f32[8, 4]
    %3 = sum(%2) {axes = [0]} : f32[4]
    return %3
  })"},
                  {R"(func @f(%0: f32[8, 4], %1: f32[]) -> (f32[4]) {
    %2 = multiply(%0, %1) : f32[8, 4]
    %3 = sum(%2) {axes = [0]} : f32[4]
    return %3
  })"},
                  {R"(func @f(%0: f16[8, 4], %1: f16[4]) -> (f16[4]) {
    %2 = multiply(%0, %1) : f16[8, 4]
    %3 = sum(%2) {axes = [0]} : f16[4]
    return %3
  })"},
                  // The factor changes along the axis of this sum.
                  {R"(func @f(%0: f32[8, 4], %1: f32[4]) -> (f32[8]) {
    %2 = multiply(%0, %1) : f32[8, 4]
    %3 = sum(%2) {axes = [1]} : f32[8]
    return %3
  })"}},
  });
}

}  // namespace weft
