// What calls of random ops share: their key, and what they are made from.
#pragma once

#include "weft/graph/registry.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/random_bits.h"

namespace weft {

inline RandomStream stream_of(const OpCall& call, const TensorView& key) {
  return random_stream(call.attributes, key.as<std::int64_t>());
}

inline void require_key(const OpCall& call, std::size_t input) {
  if (call.input(input) == TensorType{DType::kI64, {2}}) return;
  throw call
      .error("the key must be i64[2], got {}", to_string(call.input(input)))
      .hint("it holds the seed and the step");
}

inline TensorType shape_attribute(const OpCall& call, DType dtype) {
  return {dtype, call.attributes.get<Shape>("shape")};
}

// Inference of draws of floats, whose dtype is an attribute.
inline std::vector<TensorType> infer_floating_draw(const OpCall& call) {
  require_key(call, 0);
  const auto dtype = call.attributes.get<DType>("dtype");
  if (!is_floating(dtype)) {
    throw call.error("draws floats, not {}", to_string(dtype));
  }
  return {shape_attribute(call, dtype)};
}

// Ten rounds of two products and four xors for every four elements.
constexpr int kPhiloxFlops = 15;

// Adds an op from a key to a tensor of the attribute "shape".
inline OpDef& add_drawer(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(key) -> y")
      .required("shape", Shape())
      .required("stream", std::int64_t{0})
      .traits(kRandom | kNoGradient)
      .cost(elementwise_cost<kPhiloxFlops>);
}

}  // namespace weft
