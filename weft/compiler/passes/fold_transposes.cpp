#include <utility>

#include "weft/base/index.h"
#include "weft/compiler/pass.h"
#include "weft/compiler/permutation.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

// Where an operand of a product only has its last two axes transposed, what it
// was before takes its place, and the product's flag changes.
std::optional<std::vector<Value>> fold_transposes(Rewriter& rewriter,
                                                  OpApplication& application) {
  std::vector<Value>& operands = application.operands;
  Attributes& attributes = application.attributes;
  // A stack of matrices against one is a single product of all rows, unless its
  // rows are the columns of each.
  const bool is_flat = operands[0].shape().rank() > 2 &&
                       operands[1].shape().rank() == 2 &&
                       !attributes.flag("transpose_a");
  for (const std::size_t i : {0u, 1u}) {
    if (i == 0 && is_flat) continue;
    const Node* node = rewriter.node_of(operands[i]);
    const int rank = operands[i].shape().rank();
    if (node == nullptr || *node->op != known::transpose || rank < 2) {
      continue;
    }
    Integers order = permutation_of(node->attributes, rank);
    // What is in order again after this swap had swapped these two alone.
    std::swap(order[at(rank - 1)], order[at(rank - 2)]);
    if (!is_in_order(order)) continue;
    const char* flag = i == 0 ? "transpose_a" : "transpose_b";
    operands[i] = Value(rewriter, node->inputs[0]);
    attributes.set(flag, !attributes.flag(flag));
  }
  return std::nullopt;
}

}  // namespace

void register_pass_fold_transposes(PassRegistry& passes) {
  passes.add({
      .name = "fold_transposes",
      .summary = "lets products read transposed operands where they lie",
      .order = 60,
      .ops = {"matmul"},
      // The kernel of another layout may add in another order.
      .keeps_bits = false,
      .rewrite = fold_transposes,
      .samples =
          {{R"(func @f(%0: f32[2, 4, 3], %1: f32[2, 5, 4]) -> (f32[2, 3, 5]) {
    %2 = transpose(%0) {permutation = [0, 2, 1]} : f32[2, 3, 4]
    %3 = transpose(%1) {permutation = [0, 2, 1]} : f32[2, 4, 5]
    %4 = matmul(%2, %3) : f32[2, 3, 5]
    return %4
  })",
            R"(func @f(%0: f32[2, 4, 3], %1: f32[2, 5, 4]) -> (f32[2, 3, 5]) {
    %2 = matmul(%0, %1) {transpose_a = true, transpose_b = true} : f32[2, 3, 5]
    return %2
  })"},
           // One product of all rows is worth a copy.
           {R"(func @f(%0: f32[2, 4, 3], %1: f32[4, 5]) -> (f32[2, 3, 5]) {
    %2 = transpose(%0) {permutation = [0, 2, 1]} : f32[2, 3, 4]
    %3 = matmul(%2, %1) : f32[2, 3, 5]
    return %3
  })"},
           // Axes before the last two are no matter of a flag.
           {R"(func @f(%0: f32[3, 2, 4], %1: f32[4, 5]) -> (f32[2, 3, 5]) {
    %2 = transpose(%0) {permutation = [1, 0, 2]} : f32[2, 3, 4]
    %3 = matmul(%2, %1) : f32[2, 3, 5]
    return %3
  })"}},
  });
}

}  // namespace weft
