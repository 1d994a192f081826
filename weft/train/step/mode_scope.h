// Switches a model to training or inference while it lives: a model whose
// staging throws is not left in another mode.
//
// Threads: as nn::Module.
#pragma once

#include "weft/nn/module.h"

namespace weft {

class ModeScope {
 public:
  ModeScope(nn::Module& model, bool is_training)
      : model_(model), was_training_(model.is_training()) {
    model.train(is_training);
  }
  ~ModeScope() { model_.train(was_training_); }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  nn::Module& model_;
  bool was_training_;
};

}  // namespace weft
