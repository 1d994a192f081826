#include "weft/train/objective.h"

#include "weft/nn/scope.h"
#include "weft/nn/tree.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/loss.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft {

namespace {

Value count_hits(const Value& logits, const Value& target) {
  const Value hits = equal(argmax(logits, -1), cast(target, DType::kI64));
  // Up to 2^24 hits of a batch are counted exactly in f32.
  return sum(cast(hits, DType::kF32));
}

Objective tree_objective(nn::TreeReader& model, const Value& trees,
                         const Value& label) {
  const auto [loss, logits] = model.read(trees, label);
  const Shape per_tree{trees.shape()[0]};
  // A tree's root is row 0 of its table (nn/tree.h).
  const Value root_label = reshape(slice_axis(label, 1, 0, 1), per_tree);
  // The loss is a mean over trees and the labels of all their nodes count for
  // it, but a tree is right if its root is.
  return {loss / element_count(per_tree, DType::kF32),
          count_hits(logits, root_label)};
}

}  // namespace

Objective objective(nn::Layer& model, TaskKind task, const Value& input,
                    const Value& label) {
  if (task == TaskKind::kTreeLabels) {
    auto* trees = dynamic_cast<nn::TreeReader*>(&model);
    WEFT_CHECK(trees != nullptr, "a model of trees is a TreeReader");
    return tree_objective(*trees, input, label);
  }
  // bf16 has 8 significant bits, too few for the sum of exponentials in a cross
  // entropy.
  const Value logits = nn::to_f32(model(input));
  // Language models compute in the order of time: [steps, N, words].
  const Value target =
      task == TaskKind::kLanguageModel ? transpose(label, {1, 0}) : label;
  return {mean(cross_entropy(logits, target)), count_hits(logits, target)};
}

std::int64_t prediction_count(TaskKind task, const Shape& label,
                              std::int64_t examples) {
  return task == TaskKind::kLanguageModel ? examples * label[1] : examples;
}

}  // namespace weft
