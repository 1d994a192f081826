#include "weft/train/step/step_cut.h"

#include "weft/base/error.h"

namespace weft {

const char* name_of(StepCut cut) {
  switch (cut) {
    case StepCut::kTrain:
      return "train_step";
    case StepCut::kGradients:
      return "backward_step";
    case StepCut::kUpdate:
      return "update_step";
    case StepCut::kLookUp:
      return "look_up_step";
    case StepCut::kEvaluate:
      return "eval_step";
    case StepCut::kPredict:
    case StepCut::kExport:
      return "predict";
  }
  WEFT_CHECK(false, "an unknown cut");
}

bool runs_model(StepCut cut) { return cut != StepCut::kUpdate; }
bool differentiates(StepCut cut) {
  return cut == StepCut::kTrain || cut == StepCut::kGradients ||
         cut == StepCut::kLookUp;
}
bool updates(StepCut cut) {
  return cut == StepCut::kTrain || cut == StepCut::kUpdate;
}
bool predicts(StepCut cut) {
  return cut == StepCut::kPredict || cut == StepCut::kExport;
}

bool reads(StepCut cut, EntryRole role) {
  switch (role) {
    case EntryRole::kParameter:
      return true;
    case EntryRole::kFrozen:
    case EntryRole::kMask:
    case EntryRole::kStatistic:
    case EntryRole::kCarried:
    case EntryRole::kKey:
    case EntryRole::kInput:
      return runs_model(cut);
    case EntryRole::kPresent:
      return differentiates(cut);
    case EntryRole::kSlot:
    case EntryRole::kRate:
    case EntryRole::kNumber:
      return updates(cut);
    case EntryRole::kLossWeight:
      // The last batch of an epoch gives workers other shares than the rest do,
      // so the weight is an argument. One worker has all of it.
      return cut == StepCut::kGradients;
    case EntryRole::kGradient:
    case EntryRole::kLate:
      // Gradients that a step computes itself are never late.
      return cut == StepCut::kUpdate;
    case EntryRole::kMeasure:
    case EntryRole::kBroken:
      return false;
  }
  WEFT_CHECK(false, "an unknown role");
}

bool writes(StepCut cut, EntryRole role) {
  // Its results are no entries.
  if (cut == StepCut::kLookUp) return false;
  switch (role) {
    case EntryRole::kParameter:
    case EntryRole::kSlot:
      return updates(cut);
    case EntryRole::kFrozen:
    case EntryRole::kMask:
    case EntryRole::kStatistic:
    case EntryRole::kBroken:
      return differentiates(cut);
    case EntryRole::kCarried:
      return runs_model(cut) && cut != StepCut::kPredict;
    case EntryRole::kMeasure:
      return differentiates(cut) || cut == StepCut::kEvaluate;
    case EntryRole::kGradient:
      return cut == StepCut::kGradients;
    default:
      return false;
  }
}

}  // namespace weft
