#include "weft/graph/surroundings.h"

#include "weft/base/error.h"

namespace weft {
namespace {

// Layers read both where they stand, so arguments need not pass them on through
// every module.
thread_local const RandomKeyScope* innermost_key = nullptr;
thread_local DType compute_dtype = DType::kF32;
thread_local DType recurrent_weights = DType::kF32;

Value checked(Value key) {
  if (key.type() == RandomKeyScope::type()) return key;
  throw Error(ErrorCode::kInvalidArgument, "random key",
              "a key is {}, a seed and a step, not {}",
              to_string(RandomKeyScope::type()), to_string(key.type()));
}

}  // namespace

RandomKeyScope::RandomKeyScope(const Value& key)
    : RandomKeyScope([key = checked(key)] { return key; }) {}

RandomKeyScope::RandomKeyScope(std::function<Value()> find)
    : outer_(innermost_key), find_(std::move(find)) {
  innermost_key = this;
}

RandomKeyScope::~RandomKeyScope() { innermost_key = outer_; }

const TensorType& RandomKeyScope::type() {
  static const TensorType type{DType::kI64, {2}};
  return type;
}

Value RandomKeyScope::current() {
  if (innermost_key == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "dropout",
                "there is no random key here")
        .hint(
            "open a scope with a key around the model (nn.random_key in "
            "Python, RandomKeyScope in C++), or switch training off by "
            "model.train(false)");
  }
  // The key is asked for when it is drawn with, as a trace makes it a parameter
  // only if something does.
  return innermost_key->find_();
}

PrecisionScope::PrecisionScope(DType dtype) : outer_(compute_dtype) {
  // Gradients in f16 would need a scaled loss, which nothing here provides.
  if (dtype != DType::kF32 && dtype != DType::kBF16) {
    throw Error(ErrorCode::kUnsupported, "precision",
                "layers compute in f32 or bf16, not in {}", to_string(dtype));
  }
  compute_dtype = dtype;
}

PrecisionScope::~PrecisionScope() { compute_dtype = outer_; }

DType PrecisionScope::current() { return compute_dtype; }

RecurrentWeightsScope::RecurrentWeightsScope(DType dtype)
    : outer_(recurrent_weights) {
  if (dtype != DType::kF32 && dtype != DType::kBF16 && dtype != DType::kI8) {
    throw Error(ErrorCode::kUnsupported, "recurrent weights",
                "they are f32, bf16 or i8, not {}", to_string(dtype));
  }
  recurrent_weights = dtype;
}

RecurrentWeightsScope::~RecurrentWeightsScope() { recurrent_weights = outer_; }

DType RecurrentWeightsScope::current() { return recurrent_weights; }

}  // namespace weft
