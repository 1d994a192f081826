// How a step computes, whatever it is for.
//
// Threads: a value type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/compiler/batch_norm_form.h"
#include "weft/compiler/search_options.h"
#include "weft/runtime/tagged/executor.h"
#include "weft/tensor/dtype.h"

namespace weft {

class ExecutableCache;

// What is computed of a batch in private training (private_objective.h). Noise
// is added to it outside of the step (train/private_worker.h).
struct PrivateStepOptions {
  double clip_norm = 1;  // of an example's gradients, all together
};

struct StepOptions {
  DType dtype = DType::kF32;  // that heavy layers compute in: f32 or bf16
  // That recurrent layers multiply by: f32; bf16 or i8 where nothing is
  // differentiated.
  DType recurrent_weights = DType::kF32;
  // The model is trained: predictions and measures may keep what they make of
  // its parameters (ExecutableOptions::frozen).
  bool is_frozen = false;
  double clip_norm = 0;  // 0: gradients are not clipped
  std::optional<PrivateStepOptions> privacy = {};
  std::uint64_t seed = 1;  // of dropout
  // Throws Error(kNumeric) naming the op in which NaN or infinity appears.
  bool check_numerics = false;
  // Passes of the compiler that are left out (compiler/pass.h).
  std::vector<std::string> without = {};
  // Substitutions are searched for the step's graph (runtime/optimize.h).
  std::optional<SearchOptions> search = {};
  // How far batch norm is fused with the convolutions around it.
  BatchNormForm batch_norm = BatchNormForm::kAuto;
  // Bytes that the values of a training step may take
  // (ExecutableOptions::memory_limit).
  std::optional<std::size_t> memory_limit = {};
  TaggedOptions tagged = {};  // of a model that branches, loops or calls
  // Whose executables steps run, where several workers of this process run the
  // same ones in turn; null: each step has its own. It outlives the steps.
  ExecutableCache* executables = nullptr;
};

}  // namespace weft
