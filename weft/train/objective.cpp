#include "weft/train/objective.h"

#include "weft/nn/scope.h"
#include "weft/ops/compare.h"
#include "weft/ops/loss.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft {

Objective objective(nn::Layer& model, TaskKind task, const Value& input,
                    const Value& label) {
  const Value logits = nn::to_f32(model(input));
  // Language models compute in the order of time: [steps, N, words].
  const Value target =
      task == TaskKind::kLanguageModel ? transpose(label, {1, 0}) : label;
  const Value hits = equal(argmax(logits, -1), cast(target, DType::kI64));
  return {mean(cross_entropy(logits, target)), sum(cast(hits, DType::kF32))};
}

std::int64_t prediction_count(TaskKind task, const Shape& label,
                              std::int64_t examples) {
  return task == TaskKind::kLanguageModel ? examples * label[1] : examples;
}

}  // namespace weft
