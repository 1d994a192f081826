#include "weft/nn/scope.h"

#include "weft/base/error.h"
#include "weft/ops/unary.h"

namespace weft::nn {
namespace {

thread_local const Value* current_key = nullptr;
thread_local DType compute_dtype = DType::kF32;

Value cast_floating(const Value& x, DType dtype) {
  if (x.dtype() == dtype || !is_floating(x.dtype())) return x;
  return cast(x, dtype);
}

}  // namespace

RandomKeyScope::RandomKeyScope(const Value& key)
    : outer_(current_key), key_(key) {
  current_key = &key_;
}

RandomKeyScope::~RandomKeyScope() { current_key = outer_; }

const Value& RandomKeyScope::current() {
  if (current_key == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "dropout",
                "there is no random key here")
        .hint(
            "open a RandomKeyScope around the model, or call "
            "model.train(false)");
  }
  return *current_key;
}

PrecisionScope::PrecisionScope(DType dtype) : outer_(compute_dtype) {
  if (dtype != DType::kF32 && dtype != DType::kBF16) {
    throw Error(ErrorCode::kUnsupported, "precision",
                "layers compute in f32 or bf16, not in {}", to_string(dtype));
  }
  compute_dtype = dtype;
}

PrecisionScope::~PrecisionScope() { compute_dtype = outer_; }

DType PrecisionScope::current() { return compute_dtype; }

Value to_compute(const Value& x) { return cast_floating(x, compute_dtype); }

Value to_f32(const Value& x) {
  // f64 is for checks: it stays.
  return x.dtype() == DType::kF64 ? x : cast_floating(x, DType::kF32);
}

}  // namespace weft::nn
