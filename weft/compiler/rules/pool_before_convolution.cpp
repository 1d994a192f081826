// A mean of pixels and a convolution of one pixel change places: the first
// weighs pixels, the second channels. Where the pool leaves fewer pixels, the
// convolution behind it has less to compute, as in the transitions of
// DenseNets.
#include "weft/compiler/pixel_convolution.h"
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

bool makes_fewer_pixels(const MatchView& match) {
  return pixels_of(match.node(1).result()) < pixels_of(match.node(0).result());
}

std::vector<Value> convolution_of_means(const MatchView& match) {
  const MatchedNode convolution = match.node(0);
  const MatchedNode pool = match.node(1);
  const Value x = match.outside(0);
  const Value w = match.outside(1);
  const Value means =
      call(*pool.node.op, {&x}, pool.attributes(), pool.node.location);
  return {call(*convolution.node.op, {&means, &w}, convolution.attributes(),
               convolution.node.location)};
}

}  // namespace

void register_rule_pool_before_convolution(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "pool_before_convolution",
      .summary = "takes means of pixels before a convolution of one pixel, "
                 "where fewer are left",
      .use = RuleUse::kAlways,
      .order = 91,
      .pattern = {{.ops = {&ops.get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .holds = is_pixel_convolution},
                  {.ops = {&ops.get("avg_pool")},
                   .operands = {Operand::of(0)},
                   .role = PatternRole::kResult}},
      .holds = makes_fewer_pixels,
      .make = convolution_of_means,
      .samples =
          {{R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 1, 3, 2]) -> (f32[1, 2, 2, 2]) {
    %2 = conv2d(%0, %1) : f32[1, 4, 4, 2]
    %3 = avg_pool(%2) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 2]
    return %3
  })",
            R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 1, 3, 2]) -> (f32[1, 2, 2, 2]) {
    %2 = avg_pool(%0) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 3]
    %3 = conv2d(%2, %1) : f32[1, 2, 2, 2]
    return %3
  })"},
           // Where windows hang over the edge, zeros are weighed as well.
           {R"(func @f(%0: f32[1, 5, 5, 3], %1: f32[1, 1, 3, 2]) -> (f32[1, 3, 3, 2]) {
    %2 = conv2d(%0, %1) : f32[1, 5, 5, 2]
    %3 = avg_pool(%2) {window = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], counts_padding = true} : f32[1, 3, 3, 2]
    return %3
  })",
            R"(func @f(%0: f32[1, 5, 5, 3], %1: f32[1, 1, 3, 2]) -> (f32[1, 3, 3, 2]) {
    %2 = avg_pool(%0) {window = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], counts_padding = true} : f32[1, 3, 3, 3]
    %3 = conv2d(%2, %1) : f32[1, 3, 3, 2]
    return %3
  })"},
           // As many pixels are left.
           {R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 1, 3, 2]) -> (f32[1, 4, 4, 2]) {
    %2 = conv2d(%0, %1) : f32[1, 4, 4, 2]
    %3 = avg_pool(%2) {window = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1]} : f32[1, 4, 4, 2]
    return %3
  })"},
           // The convolution reads more than one pixel.
           {R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[3, 3, 3, 2]) -> (f32[1, 2, 2, 2]) {
    %2 = conv2d(%0, %1) {padding = [1, 1, 1, 1]} : f32[1, 4, 4, 2]
    %3 = avg_pool(%2) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 2]
    return %3
  })"},
           // An activation stands between them.
           {R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 1, 3, 2]) -> (f32[1, 2, 2, 2]) {
    %2 = conv2d(%0, %1) {activation = "relu"} : f32[1, 4, 4, 2]
    %3 = avg_pool(%2) {window = [2, 2], strides = [2, 2]} : f32[1, 2, 2, 2]
    return %3
  })"}},
  });
}

}  // namespace weft
