// What layers take from around them instead of from an argument: the random
// key of this step, the dtype that heavy ops compute in, and the one that
// recurrent layers have their weights in.
//
// A staged function (runtime/jit) takes the key as a hidden argument, and is
// traced once per dtype; once per layer that calls it, if it draws.
//
// Threads: per thread.
#pragma once

#include <functional>

#include "weft/graph/value.h"

namespace weft {

// While it lives, random layers draw with `key`: i64[2], (seed, step).
class RandomKeyScope {
 public:
  // Throws Error(kInvalidArgument) for a key of another type.
  explicit RandomKeyScope(const Value& key);
  // The key is what `find` returns whenever somebody asks for it.
  explicit RandomKeyScope(std::function<Value()> find);
  ~RandomKeyScope();
  RandomKeyScope(const RandomKeyScope&) = delete;
  RandomKeyScope& operator=(const RandomKeyScope&) = delete;

  static const TensorType& type();
  // Throws Error(kInvalidArgument) outside every scope.
  static Value current();

 private:
  const RandomKeyScope* outer_;
  std::function<Value()> find_;
};

// While it lives, dense and convolutional layers compute in `dtype`.
// Parameters stay f32 and are cast at their use, so that gradients and updates
// are f32 too; statistics and losses are always f32.
class PrecisionScope {
 public:
  // Throws Error(kUnsupported) unless the dtype is f32 or bf16.
  explicit PrecisionScope(DType dtype);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

  static DType current();

 private:
  DType outer_;
};

// While it lives, recurrent layers multiply by weights of `dtype`: f32, or bf16
// or i8 for a model that is served (ops/recurrent.h).
class RecurrentWeightsScope {
 public:
  // Throws Error(kUnsupported) for another dtype.
  explicit RecurrentWeightsScope(DType dtype);
  ~RecurrentWeightsScope();
  RecurrentWeightsScope(const RecurrentWeightsScope&) = delete;
  RecurrentWeightsScope& operator=(const RecurrentWeightsScope&) = delete;

  static DType current();

 private:
  DType outer_;
};

}  // namespace weft
