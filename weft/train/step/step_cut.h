// The cuts of a step description, as tables: which roles the function of a cut
// reads, and which it writes. A function's parameters and results, what is
// donated and what a file holds follow from these.
//
//   kTrain      parameters, slots, batch -> parameters', slots', measures
//   kGradients  parameters, batch        -> statistics', measures, gradients
//   kUpdate     parameters, gradients, slots -> parameters', slots'
//   kLookUp     parameters, batch        -> rows of tables
//   kEvaluate   parameters, batch        -> measures
//   kPredict    parameters, known inputs -> predictions
//   kExport     parameters, known inputs -> predictions, carried'
//
// kGradients and kUpdate are the two halves of kTrain, for workers that
// exchange gradients in between. kLookUp says which rows of a table kTrain
// reads and changes, where these are all (touched_parts.h). The first four
// train: dropout draws and statistics follow the batches. The others leave
// everything as it is; what a model carries from batch to batch they keep in
// memory of their own, and kPredict begins anew with each run.
//
// Threads: pure functions.
#pragma once

#include "weft/train/step/entry.h"

namespace weft {

enum class StepCut {
  kTrain,
  kGradients,
  kUpdate,
  kLookUp,
  kEvaluate,
  kPredict,
  kExport,
};

// What the function of a cut is called.
const char* name_of(StepCut cut);

bool runs_model(StepCut cut);
bool differentiates(StepCut cut);
bool updates(StepCut cut);
// Whether it tells what the model makes of known inputs.
bool predicts(StepCut cut);

// Whether the function of a cut takes an entry as a parameter.
bool reads(StepCut cut, EntryRole role);
// Whether the next value of an entry is a result.
bool writes(StepCut cut, EntryRole role);

}  // namespace weft
