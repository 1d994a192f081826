#include "weft/compiler/pass.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

// Whether every element is 1: one number, whatever views and broadcasts repeat
// it.
bool is_one_everywhere(Rewriter& rewriter, Value x) {
  while (const Node* node = rewriter.node_of(x)) {
    if (*node->op == known::full) return node->attributes.real("value") == 1;
    if (*node->op == known::constant) {
      const auto& number = node->attributes.get<Tensor>("value");
      return number.size() == 1 && number.item() == 1;
    }
    const bool repeats =
        node->op->has(kView) || *node->op == known::broadcast_to;
    if (!repeats || node->inputs.size() != 1) return false;
    x = Value(rewriter, node->inputs[0]);
  }
  return false;
}

// x * 1, 1 * x and x / 1 are x, if x is not repeated by it. A gradient begins
// with such a factor, and where a loop does not take it along it costs a pass
// over the values.
std::optional<std::vector<Value>> drop_unit_factor(Rewriter& rewriter,
                                                   OpApplication& application) {
  const std::size_t factors = application.op == known::multiply ? 2 : 1;
  for (std::size_t n = 0; n < factors; ++n) {
    const Value& factor = application.operands[1 - n];
    const Value& x = application.operands[n];
    if (x.type() == application.outputs[0] &&
        is_one_everywhere(rewriter, factor)) {
      return std::vector{x};
    }
  }
  return std::nullopt;
}

}  // namespace

void register_pass_drop_unit_factors(PassRegistry& passes) {
  passes.add({
      .name = "drop_unit_factors",
      .summary = "leaves out factors of 1, with which gradients begin",
      .order = 12,
      .ops = {"multiply", "divide"},
      .rewrite = drop_unit_factor,
      .samples = {{R"(func @f(%0: f32[2, 3]) -> (f32[2, 3]) {
    %1 = full() {shape = shape[], value = 1.0, dtype = f32} : f32[]
    %2 = reshape(%1) {shape = shape[1, 1]} : f32[1, 1]
    %3 = broadcast_to(%2) {shape = shape[2, 3]} : f32[2, 3]
    %4 = multiply(%3, %0) : f32[2, 3]
    %5 = divide(%4, %2) : f32[2, 3]
    %6 = negate(%5) : f32[2, 3]
    return %6
  })",
                   R"(func @f(%0: f32[2, 3]) -> (f32[2, 3]) {
    %1 = negate(%0) : f32[2, 3]
    return %1
  })"},
                  // The factor repeats the value, or divides it into itself.
                  {R"(func @f(%0: f32[3]) -> (f32[2, 3], f32[3]) {
    %1 = full() {shape = shape[2, 3], value = 1.0, dtype = f32} : f32[2, 3]
    %2 = multiply(%0, %1) : f32[2, 3]
    %3 = full() {shape = shape[1], value = 1.0, dtype = f32} : f32[1]
    %4 = divide(%3, %0) : f32[3]
    return %2, %4
  })"}},
  });
}

}  // namespace weft
