// A convolution of images beside each other is the sum of convolutions of each
// (ops/conv_of_parts.cpp): they need not be copied beside each other first. The
// library can do no other thing for that: it writes no result between the
// channels of another one.
#include "weft/compiler/rule.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// A part of fewer channels keeps no vector full.
constexpr Dim kFewestChannels = 16;

bool joins_full_channels(const MatchedNode& concat) {
  const Shape& whole = concat.result().shape;
  if (whole.rank() != 4 || concat.result().dtype != DType::kF32 ||
      normalize_axis(concat.attributes().integer("axis"), 4, "concat") != 3) {
    return false;
  }
  for (std::size_t i = 0; i < concat.node.inputs.size(); ++i) {
    if (concat.operand(i).shape[3] < kFewestChannels) return false;
  }
  return true;
}

bool has_one_group(const MatchedNode& convolution) {
  return convolution.attributes().integer("groups") == 1;
}

// Each part but the first reads and writes the result once more; the copy reads
// and writes each part.
bool saves_bytes(const MatchView& match) {
  const auto more = static_cast<Dim>(match.node(0).node.inputs.size()) - 1;
  return more * match.node(1).result().shape.num_elements() <=
         match.node(0).result().shape.num_elements();
}

std::vector<Value> sum_of_convolutions(const MatchView& match) {
  static const OpDef& op = op_registry().get("conv2d_of_parts");
  std::vector<Value> operands = match.operands_from(0, 0);
  const auto parts = static_cast<std::int64_t>(operands.size());
  for (Value& each : match.operands_from(1, 1)) operands.push_back(each);
  Attributes attributes = match.attributes(1);
  attributes.set("parts", parts);
  return call_all(op, operands, attributes, match.node(1).node.location);
}

}  // namespace

void register_rule_convolve_parts(RuleRegistry& rules) {
  using Operand = PatternOperand;
  const OpRegistry& ops = op_registry();
  rules.add({
      .name = "convolve_parts",
      .summary = "adds up convolutions of images, in place of one of a "
                 "concatenation",
      .use = RuleUse::kAlways,
      .order = 102,
      .pattern = {{.ops = {&ops.get("concat")},
                   .operands = {Operand::outside(0)},
                   .may_have_more = true,
                   .holds = joins_full_channels},
                  {.ops = {&ops.get("conv2d")},
                   .operands = {Operand::of(0), Operand::outside(1)},
                   .role = PatternRole::kResult,
                   .may_have_more = true,
                   .holds = has_one_group}},
      .holds = saves_bytes,
      .make = sum_of_convolutions,
      .samples =
          {{R"(func @f(%0: f32[1, 3, 3, 16], %1: f32[1, 3, 3, 20], %2: f32[1, 1, 36, 8], %3: f32[8]) -> (f32[1, 3, 3, 8]) {
    %4 = concat(%0, %1) {axis = 3} : f32[1, 3, 3, 36]
    %5 = conv2d(%4, %2, %3) {activation = "relu"} : f32[1, 3, 3, 8]
    return %5
  })",
            R"(func @f(%0: f32[1, 3, 3, 16], %1: f32[1, 3, 3, 20], %2: f32[1, 1, 36, 8], %3: f32[8]) -> (f32[1, 3, 3, 8]) {
    %4 = conv2d_of_parts(%0, %1, %2, %3) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1, activation = "relu", parts = 2} : f32[1, 3, 3, 8]
    return %4
  })"},
           // The concatenation is needed anyway.
           {R"(func @f(%0: f32[1, 3, 3, 16], %1: f32[1, 3, 3, 16], %2: f32[1, 1, 32, 8]) -> (f32[1, 3, 3, 8], f32[1, 3, 3, 32]) {
    %3 = concat(%0, %1) {axis = 3} : f32[1, 3, 3, 32]
    %4 = conv2d(%3, %2) : f32[1, 3, 3, 8]
    return %4, %3
  })"},
           // The result is larger than what would be copied.
           {R"(func @f(%0: f32[1, 3, 3, 16], %1: f32[1, 3, 3, 16], %2: f32[1, 1, 32, 40]) -> (f32[1, 3, 3, 40]) {
    %3 = concat(%0, %1) {axis = 3} : f32[1, 3, 3, 32]
    %4 = conv2d(%3, %2) : f32[1, 3, 3, 40]
    return %4
  })"},
           // Rows below each other are no channels.
           {R"(func @f(%0: f32[1, 2, 3, 16], %1: f32[1, 1, 3, 16], %2: f32[1, 1, 16, 4]) -> (f32[1, 3, 3, 4]) {
    %3 = concat(%0, %1) {axis = 1} : f32[1, 3, 3, 16]
    %4 = conv2d(%3, %2) : f32[1, 3, 3, 4]
    return %4
  })"}},
  });
}

}  // namespace weft
