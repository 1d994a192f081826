#include "weft/train/final_scores.h"

#include <utility>

#include "weft/train/files/checkpoint.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/step/step_functions.h"

namespace weft {
namespace {

// Training is over, so the model's memory may take other weights.
void load_weights(const std::filesystem::path& checkpoint,
                  const Optimizer& optimizer,
                  const StepDescription& description) {
  const CheckpointFile file(checkpoint);
  for (const Entry& entry : description.entries()) {
    // Evaluation needs no slots, and carries a state of its own, from zero.
    if (!is_state(entry.role) || entry.role == EntryRole::kSlot ||
        entry.role == EntryRole::kCarried) {
      continue;
    }
    entry.memory.copy_from(
        file.tensors().read(entry.role == EntryRole::kParameter
                                ? used_name(optimizer, {entry.name, entry.type})
                                : entry.name));
  }
}

}  // namespace

FinalScores final_scores(const Recipe& recipe, const Assembly& assembly,
                         const StepDescription& description,
                         const std::filesystem::path& checkpoint, Scores best) {
  const DataPart part = assembly.data->has(DataPart::kTest)
                            ? DataPart::kTest
                            : assembly.held_out();
  // Predictions are scored by the best weights, too.
  load_weights(checkpoint, *assembly.optimizer, description);
  FinalScores scores{.test = std::move(best), .predicted = {}};
  if (part != assembly.held_out()) {
    Evaluation test(description, assembly.data->measure(part, Shard()));
    scores.test = Scores(assembly.task->metrics(), test.run());
  }
  scores.predicted = assembly.task->score_predictions(
      {.data = assembly.data->description(),
       .functions = functions_of(
           StepDescription(*assembly.model, *assembly.task,
                           example_inputs(assembly.data->description()),
                           step_options(recipe)))},
      *assembly.data->measure(part, Shard()));
  for (const auto& [metric, value] : scores.predicted) {
    scores.test.set(metric.name, value);
  }
  return scores;
}

}  // namespace weft
