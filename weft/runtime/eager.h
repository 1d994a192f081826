// Eager execution: every op runs at once, with the kernels that plans use.
// A Tape records what ran while it lives, so that it can be differentiated.
//
//   Tape tape;
//   tape.watch(w);
//   Value loss = mean_squared_error(matmul(x, w), y);
//   Value dw = tape.gradient(loss, {&w, 1})[0];
//
// Threads: each thread has its own tapes and its own cache of kernels.
#pragma once

#include <vector>

#include "weft/autodiff/reverse.h"
#include "weft/graph/context.h"

namespace weft {

class Tape {
 public:
  Tape();   // starts recording on this thread; tapes nest
  ~Tape();  // stops
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Gives `value` an identity, so that gradients with respect to it are known.
  void watch(Value& value);

  // The gradient of `root`, seeded with ones. Outer tapes record it, so it can
  // be differentiated again. Zeros where `root` does not depend on a value.
  // Throws Error(kInvalidArgument) for a value that was not watched.
  std::vector<Value> gradient(const Value& root, std::span<const Value> wrt);

  // Called by the eager runtime.
  void record(Application application);

 private:
  std::vector<Application> applications_;
  Tape* outer_;
  bool is_recording_ = true;
};

}  // namespace weft
