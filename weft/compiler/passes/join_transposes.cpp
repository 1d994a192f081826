#include "weft/base/index.h"
#include "weft/compiler/pass.h"
#include "weft/compiler/permutation.h"
#include "weft/graph/known_ops.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

std::optional<std::vector<Value>> join_transposes(Rewriter& rewriter,
                                                  OpApplication& application) {
  const Node* inner = rewriter.node_of(application.operands[0]);
  if (inner == nullptr || *inner->op != known::transpose) return std::nullopt;
  const int rank = application.operands[0].shape().rank();
  const Integers first = permutation_of(inner->attributes, rank);
  Integers order;
  for (const std::int64_t axis : permutation_of(application.attributes, rank)) {
    // An axis of the result is `axis` of the inner one, and so first[axis] of
    // the source.
    order.push_back(first[at(axis)]);
  }
  const Value source(rewriter, inner->inputs[0]);
  if (is_in_order(order)) return std::vector{source};
  // Ops that are called in this scope go into the function that is rewritten,
  // and are rewritten in turn.
  const ContextScope scope(rewriter);
  return std::vector{transpose(source, order)};
}

}  // namespace

void register_pass_join_transposes(PassRegistry& passes) {
  passes.add({
      .name = "join_transposes",
      .summary = "makes one transposition, or none, of one of another",
      .order = 50,
      .ops = {"transpose"},
      .rewrite = join_transposes,
      .samples =
          {{R"(func @f(%0: f32[2, 3, 4]) -> (f32[2, 3, 4], f32[3, 4, 2]) {
    %1 = transpose(%0) {permutation = [1, 0, 2]} : f32[3, 2, 4]
    %2 = transpose(%1) {permutation = [1, 0, -1]} : f32[2, 3, 4]
    %3 = transpose(%1) {permutation = [0, 2, 1]} : f32[3, 4, 2]
    %4 = negate(%2) : f32[2, 3, 4]
    return %4, %3
  })",
            R"(func @f(%0: f32[2, 3, 4]) -> (f32[2, 3, 4], f32[3, 4, 2]) {
    %1 = transpose(%0) {permutation = [1, 2, 0]} : f32[3, 4, 2]
    %2 = negate(%0) : f32[2, 3, 4]
    return %2, %1
  })"}},
  });
}

}  // namespace weft
