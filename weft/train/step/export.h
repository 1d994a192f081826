// What a model makes of its inputs, as a function in a file that needs neither
// recipe nor data nor training: StepCut::kExport in files/exported.h.
//
//   export_step("digits.weft", description.in_use(*optimizer, state));
//   ExportedFunction model("digits.weft");
//   const Tensor scores = model.run({image})[0];
//
// Weights, masks and statistics are constants of it, as they are now; those
// that predictions do not need are left out. What the model carries from batch
// to batch is a variable that begins with zeros. What a task draws to predict
// is drawn anew in the same way with each run.
//
// Beside the predictions the file holds what measures them, "evaluate":
// (key i64[2], inputs and labels) -> the sum and the count of each measure, as
// MeasureSums has them; and what the task computes beside predictions
// (TrainingTask::functions()). All share their weights.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>

#include "weft/files/safetensors.h"
#include "weft/train/step/description.h"

namespace weft {

inline constexpr const char* kEvaluateFunction = "evaluate";

// The arguments are the task's known inputs, of any size where the model
// carries nothing, and the results its predictions. A function that was
// exported to `path` before is replaced. The metadata gets `more`. Throws
// Error(kInvalidArgument) where another file stands, as a checkpoint, and what
// the task, its model and export_function() throw.
void export_step(const std::filesystem::path& path,
                 const StepDescription& description,
                 const TextMetadata& more = {});

}  // namespace weft
