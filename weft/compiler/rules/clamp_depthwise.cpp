// A depthwise convolution does so little with each number that clamping its
// image before it and its result behind it, in passes of their own, takes a
// third as long as the convolution does. Its kernel clamps what it has in
// registers anyway.
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// The kernel (kernels/cpu/depthwise_conv.cpp) computes in f32.
bool is_depthwise(const MatchedNode& convolution) {
  const Shape& x = convolution.operand(0).shape;
  return convolution.operand(0).dtype == DType::kF32 &&
         convolution.operand(1).dtype == DType::kF32 &&
         convolution.attributes().text("activation") == "none" &&
         x[3] == convolution.attributes().integer("groups") &&
         x[3] == convolution.result().shape[3];
}

std::vector<Value> clamped_convolution(const MatchView& match) {
  static const OpDef& op = op_registry().get("clamped_conv2d");
  std::vector<Value> operands = match.operands_from(1, 1);
  operands.insert(operands.begin(), match.outside(0));
  Attributes attributes;
  for (const char* name : {"strides", "padding", "dilation", "groups"}) {
    attributes.set(name, *match.attributes(1).find(name));
  }
  attributes.set("image_low", match.attributes(0).real("low"));
  attributes.set("image_high", match.attributes(0).real("high"));
  attributes.set("low", match.attributes(2).real("low"));
  attributes.set("high", match.attributes(2).real("high"));
  return call_all(op, operands, attributes, match.node(1).node.location);
}

}  // namespace

void register_rule_clamp_depthwise(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  const OpDef& clamp = ops.get("clamp");
  rules.add({
      .name = "clamp_depthwise",
      .summary = "clamps the image and the result of a depthwise convolution "
                 "on its way",
      .use = RuleUse::kAlways,
      .order = 103,
      .pattern = {{.ops = {&clamp}, .operands = {Operand::outside(0)}},
                  {.ops = {&ops.get("conv2d")},
                   .operands = {Operand::of(0), Operand::outside(1)},
                   .may_have_more = true,
                   .holds = is_depthwise},
                  {.ops = {&clamp},
                   .operands = {Operand::of(1)},
                   .role = PatternRole::kResult}},
      .make = clamped_convolution,
      .samples =
          {{R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[3, 3, 1, 3], %2: f32[3]) -> (f32[1, 2, 2, 3]) {
    %3 = clamp(%0) {low = 0.0, high = 0.5} : f32[1, 4, 4, 3]
    %4 = conv2d(%3, %1, %2) {strides = [2, 2], padding = [1, 1, 1, 1], groups = 3} : f32[1, 2, 2, 3]
    %5 = clamp(%4) {low = 1.0, high = 2.5} : f32[1, 2, 2, 3]
    return %5
  })",
            R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[3, 3, 1, 3], %2: f32[3]) -> (f32[1, 2, 2, 3]) {
    %3 = clamped_conv2d(%0, %1, %2) {strides = [2, 2], padding = [1, 1, 1, 1], dilation = [1, 1], groups = 3, image_low = 0.0, image_high = 0.5, low = 1.0, high = 2.5} : f32[1, 2, 2, 3]
    return %3
  })"},
           // Somebody else reads the clamped image.
           {R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 1, 1, 3]) -> (f32[1, 4, 4, 3], f32[1, 4, 4, 3]) {
    %2 = clamp(%0) {low = 0.0, high = 6.0} : f32[1, 4, 4, 3]
    %3 = conv2d(%2, %1) {groups = 3} : f32[1, 4, 4, 3]
    %4 = clamp(%3) {low = 0.0, high = 6.0} : f32[1, 4, 4, 3]
    return %4, %2
  })"},
           // Each result reads all channels.
           {R"(func @f(%0: f32[1, 4, 4, 3], %1: f32[1, 1, 3, 3]) -> (f32[1, 4, 4, 3]) {
    %2 = clamp(%0) {low = 0.0, high = 6.0} : f32[1, 4, 4, 3]
    %3 = conv2d(%2, %1) : f32[1, 4, 4, 3]
    %4 = clamp(%3) {low = 0.0, high = 6.0} : f32[1, 4, 4, 3]
    return %4
  })"},
           // No kernel takes f64.
           {R"(func @f(%0: f64[1, 4, 4, 3], %1: f64[1, 1, 1, 3]) -> (f64[1, 4, 4, 3]) {
    %2 = clamp(%0) {low = 0.0, high = 6.0} : f64[1, 4, 4, 3]
    %3 = conv2d(%2, %1) {groups = 3} : f64[1, 4, 4, 3]
    %4 = clamp(%3) {low = 0.0, high = 6.0} : f64[1, 4, 4, 3]
    return %4
  })"}},
  });
}

}  // namespace weft
