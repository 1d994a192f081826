// A mean of pixels and a convolution of one pixel change places
// (pool_before_convolution.cpp). Where the pool leaves as many pixels and the
// convolution fewer channels, the pool behind it has less to add up, as in the
// branches of Inception.
#include "weft/compiler/pixel_convolution.h"
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

bool makes_fewer_channels(const MatchView& match) {
  const TensorType& x = match.type(0);
  return pixels_of(match.node(0).result()) == pixels_of(x) &&
         match.node(1).result().shape[3] < x.shape[3];
}

std::vector<Value> means_of_convolution(const MatchView& match) {
  const MatchedNode pool = match.node(0);
  const MatchedNode convolution = match.node(1);
  const Value x = match.outside(0);
  const Value w = match.outside(1);
  const Value y = call(*convolution.node.op, {&x, &w}, convolution.attributes(),
                       convolution.node.location);
  const Value means =
      call(*pool.node.op, {&y}, pool.attributes(), pool.node.location);
  // Where padding is counted, the mean of a bias would be less than it.
  const std::vector<Value> biases = match.operands_from(1, 2);
  if (biases.empty()) return {means};
  return {means + to_dtype(biases[0], means.dtype())};
}

}  // namespace

void register_rule_pool_after_convolution(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "pool_after_convolution",
      .summary = "takes means of pixels behind a convolution of one pixel, "
                 "which leaves fewer channels",
      .use = RuleUse::kAlways,
      .order = 92,
      .pattern = {{.ops = {&ops.get("avg_pool")},
                   .operands = {Operand::outside(0)}},
                  {.ops = {&ops.get("conv2d")},
                   .operands = {Operand::of(0), Operand::outside(1)},
                   .role = PatternRole::kResult,
                   .may_have_more = true,
                   .holds = is_pixel_convolution}},
      .holds = makes_fewer_channels,
      .make = means_of_convolution,
      .samples =
          {{R"(func @f(%0: f32[1, 4, 4, 5], %1: f32[1, 1, 5, 2]) -> (f32[1, 4, 4, 2]) {
    %2 = avg_pool(%0) {window = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1]} : f32[1, 4, 4, 5]
    %3 = conv2d(%2, %1) : f32[1, 4, 4, 2]
    return %3
  })",
            R"(func @f(%0: f32[1, 4, 4, 5], %1: f32[1, 1, 5, 2]) -> (f32[1, 4, 4, 2]) {
    %2 = conv2d(%0, %1) : f32[1, 4, 4, 2]
    %3 = avg_pool(%2) {window = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1]} : f32[1, 4, 4, 2]
    return %3
  })"},
           {R"(func @f(%0: f32[1, 4, 4, 5], %1: f32[1, 1, 5, 2], %2: f32[2]) -> (f32[1, 4, 4, 2]) {
    %3 = avg_pool(%0) {window = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1], counts_padding = true} : f32[1, 4, 4, 5]
    %4 = conv2d(%3, %1, %2) : f32[1, 4, 4, 2]
    return %4
  })",
            R"(func @f(%0: f32[1, 4, 4, 5], %1: f32[1, 1, 5, 2], %2: f32[2]) -> (f32[1, 4, 4, 2]) {
    %3 = conv2d(%0, %1) : f32[1, 4, 4, 2]
    %4 = avg_pool(%3) {window = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1], counts_padding = true} : f32[1, 4, 4, 2]
    %5 = add(%4, %2) : f32[1, 4, 4, 2]
    return %5
  })"},
           // The convolution makes more channels.
           {R"(func @f(%0: f32[1, 4, 4, 2], %1: f32[1, 1, 2, 5]) -> (f32[1, 4, 4, 5]) {
    %2 = avg_pool(%0) {window = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1]} : f32[1, 4, 4, 2]
    %3 = conv2d(%2, %1) : f32[1, 4, 4, 5]
    return %3
  })"},
           // The pool leaves fewer pixels, and the convolution gains by that.
           {R"(func @f(%0: f32[1, 4, 4, 5], %1: f32[1, 1, 5, 2]) -> (f32[1, 2, 2, 2]) {
    %2 = avg_pool(%0) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 5]
    %3 = conv2d(%2, %1) : f32[1, 2, 2, 2]
    return %3
  })"},
           // Somebody else reads the means.
           {R"(func @f(%0: f32[1, 4, 4, 5], %1: f32[1, 1, 5, 2]) -> (f32[1, 4, 4, 2], f32[1, 4, 4, 5]) {
    %2 = avg_pool(%0) {window = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1]} : f32[1, 4, 4, 5]
    %3 = conv2d(%2, %1) : f32[1, 4, 4, 2]
    return %3, %2
  })"}},
  });
}

}  // namespace weft
