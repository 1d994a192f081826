// What layers take from around them instead of from an argument: the random
// key of this step, and the dtype that heavy ops compute in.
//
// Threads: per thread.
#pragma once

#include "weft/graph/value.h"

namespace weft::nn {

// While it lives, random layers draw with `key`: i64[2], (seed, step).
class RandomKeyScope {
 public:
  explicit RandomKeyScope(const Value& key);
  ~RandomKeyScope();
  RandomKeyScope(const RandomKeyScope&) = delete;
  RandomKeyScope& operator=(const RandomKeyScope&) = delete;

  // Throws Error(kInvalidArgument) outside every scope.
  static const Value& current();

 private:
  const Value* outer_;
  Value key_;
};

// While it lives, dense and convolutional layers compute in `dtype` (f32 or
// bf16). Parameters stay f32 and are cast at their use, so that gradients and
// updates are f32 too; statistics and losses are always f32.
class PrecisionScope {
 public:
  explicit PrecisionScope(DType dtype);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

  static DType current();

 private:
  DType outer_;
};

// `x` in the dtype of the current PrecisionScope, if it is floating.
Value to_compute(const Value& x);
// `x` as f32, if it is floating.
Value to_f32(const Value& x);

}  // namespace weft::nn
