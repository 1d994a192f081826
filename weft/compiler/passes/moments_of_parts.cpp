// Moments are per channel, so that those of maps beside each other are those of
// each map: they are taken once, where the map is made, for all that read it
// (Jung et al., "Restructuring batch normalization to accelerate CNN training",
// MLSys 2019: inter-composite-layer fusion).
#include "weft/compiler/pass.h"
#include "weft/graph/registry.h"
#include "weft/ops/join.h"
#include "weft/ops/norm.h"

namespace weft {
namespace {

std::optional<std::vector<Value>> moments_of_parts(Rewriter& rewriter,
                                                   OpApplication& application) {
  static const OpDef& concat_op = op_registry().get("concat");
  const Value& x = application.operands[0];
  const Node* node = rewriter.node_of(x);
  if (node == nullptr || node->op != &concat_op ||
      normalize_axis(node->attributes.integer("axis"), x.shape().rank(),
                     "concat") != x.shape().rank() - 1) {
    return std::nullopt;
  }
  // Parts may be concatenations themselves, and are rewritten in turn.
  const ContextScope scope(rewriter);
  std::vector<Value> means;
  std::vector<Value> variances;
  const std::vector<ValueId> parts = node->inputs;
  for (const ValueId part : parts) {
    const auto [mean, variance] = moments(Value(rewriter, part));
    means.push_back(mean);
    variances.push_back(variance);
  }
  return std::vector{concat(means, 0), concat(variances, 0)};
}

}  // namespace

void register_pass_moments_of_parts(PassRegistry& passes) {
  passes.add({
      .name = "moments_of_parts",
      .summary = "takes moments of a concatenation's operands one by one",
      .order = 25,
      .ops = {"moments"},
      // They are added up in another order.
      .keeps_bits = false,
      .rewrite = moments_of_parts,
      .samples = {{R"(func @f(%0: f32[2, 4, 3], %1: f32[2, 4, 5]) -> (f32[8]) {
    %2 = concat(%0, %1) {axis = -1} : f32[2, 4, 8]
    %3, %4 = moments(%2) : f32[8], f32[8]
    return %4
  })",
                   R"(func @f(%0: f32[2, 4, 3], %1: f32[2, 4, 5]) -> (f32[8]) {
    %2, %3 = moments(%0) : f32[3], f32[3]
    %4, %5 = moments(%1) : f32[5], f32[5]
    %6 = concat(%3, %5) {axis = 0} : f32[8]
    return %6
  })"},
                  // Rows of one operand are behind those of the other.
                  {R"(func @f(%0: f32[2, 4, 3], %1: f32[2, 4, 3]) -> (f32[3]) {
    %2 = concat(%0, %1) {axis = 0} : f32[4, 4, 3]
    %3, %4 = moments(%2) : f32[3], f32[3]
    return %4
  })"}},
  });
}

}  // namespace weft
