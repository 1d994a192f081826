// Weft for programs: tensors and ops, functions that are staged, layers and
// optimizers, data, training, and models that are trained. Each header says
// more; programs that wait for a compiler include those that they need.
//
//   find_package(weft REQUIRED)
//   target_link_libraries(program PRIVATE weft::weft)
#pragma once

#include "weft/base/parallel.h"
#include "weft/base/version.h"
#include "weft/data/loader.h"
#include "weft/data/registry.h"
#include "weft/data/tensor_set.h"
#include "weft/files/exported.h"
#include "weft/files/safetensors.h"
#include "weft/nn/model.h"
#include "weft/nn/nn.h"
#include "weft/ops/ops.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/variable_updater.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/jit/jit.h"
#include "weft/runtime/transforms.h"
#include "weft/train/model_in_use.h"
#include "weft/train/recipe_step.h"
#include "weft/train/trainer.h"
