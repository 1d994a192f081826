#include "weft/nn/scope.h"

#include "weft/graph/context.h"
#include "weft/graph/location.h"
#include "weft/nn/init.h"
#include "weft/ops/unary.h"

namespace weft::nn {
namespace {

Value cast_floating(const Value& x, DType dtype) {
  // Indices and masks keep their dtype: no precision applies to them.
  if (x.dtype() == dtype || !is_floating(x.dtype())) return x;
  return cast(x, dtype);
}

}  // namespace

Value to_compute(const Value& x) {
  return cast_floating(x, PrecisionScope::current());
}

Value to_f32(const Value& x) {
  // f64 is for checks: it stays.
  return x.dtype() == DType::kF64 ? x : cast_floating(x, DType::kF32);
}

std::uint32_t random_stream() {
  // The stream is that of the layer's place, so that layers draw different
  // numbers from one key; what is traced must know that it depends on where it
  // stands.
  current_context().depend_on_layer();
  return stream_of(LayerScope::current());
}

}  // namespace weft::nn
