// Zeros around a kernel change nothing but the time while an image is finite,
// and make convolutions alike that can then become one.
#include "weft/compiler/convolution_kernel.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

constexpr std::int64_t kEnlarged = 3;

KernelWindow enlarged(const KernelWindow& window) {
  return *joined(window, {{kEnlarged, kEnlarged},
                          {window.middle()[0] + 1, window.middle()[1] + 1,
                           window.middle()[2] + 1, window.middle()[3] + 1}});
}

bool can_be_enlarged(const MatchedNode& convolution) {
  const auto window = window_of(convolution);
  // A window that is moved outwards has no padding to give.
  return window && window->size[0] <= kEnlarged &&
         window->size[1] <= kEnlarged &&
         window->size != Integers{kEnlarged, kEnlarged};
}

std::vector<Value> with_larger_kernel(const MatchView& match) {
  const MatchedNode convolution = match.node(0);
  const KernelWindow window = enlarged(*window_of(convolution));
  std::vector<Value> operands = match.operands_from(0, 0);
  operands[1] = widened(operands[1], window.size);
  return call_all(*convolution.node.op, operands,
                  with_window(convolution.attributes(), window),
                  convolution.node.location);
}

}  // namespace

void register_rule_enlarge_kernel(RuleRegistry& rules) {
  using Operand = PatternOperand;
  rules.add({
      .name = "enlarge_kernel",
      .summary = "puts zeros around a kernel, up to three rows and columns",
      .pattern = {{.ops = {&op_registry().get("conv2d")},
                   .operands = {Operand::outside(0), Operand::outside(1)},
                   .role = PatternRole::kResult,
                   .may_have_more = true,
                   .holds = can_be_enlarged}},
      .make = with_larger_kernel,
      .samples =
          {{R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 3, 3, 4]) -> (f32[2, 5, 5, 4]) {
    %2 = conv2d(%0, %1) {padding = [0, 0, 1, 1]} : f32[2, 5, 5, 4]
    return %2
  })",
            R"(func @f(%0: f32[2, 5, 5, 3], %1: f32[1, 3, 3, 4]) -> (f32[2, 5, 5, 4]) {
    %2 = pad(%1) {low = [1, 0, 0, 0], high = [1, 0, 0, 0]} : f32[3, 3, 3, 4]
    %3 = conv2d(%0, %2) {padding = [1, 1, 1, 1]} : f32[2, 5, 5, 4]
    return %3
  })"},
           // Each group would have to be widened by itself.
           {R"(func @f(%0: f32[2, 5, 5, 4], %1: f32[1, 1, 2, 4]) -> (f32[2, 5, 5, 4]) {
    %2 = conv2d(%0, %1) {groups = 2} : f32[2, 5, 5, 4]
    return %2
  })"},
           // Taps lie apart.
           {R"(func @f(%0: f32[2, 5, 5, 4], %1: f32[3, 1, 4, 4]) -> (f32[2, 1, 5, 4]) {
    %2 = conv2d(%0, %1) {dilation = [2, 1]} : f32[2, 1, 5, 4]
    return %2
  })"}},
  });
}

}  // namespace weft
