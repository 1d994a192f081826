// What calls of random ops share: their key, and what they are made from.
#pragma once

#include <array>

#include "weft/graph/registry.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/random_bits.h"

namespace weft {

inline RandomStream stream_of(const OpCall& call, const TensorView& key) {
  return random_stream(call.attributes, key.as<std::int64_t>());
}

// Calls draw(stream, first, size) for each of the keys [..., 2]: what a key
// draws are the elements first, first + 1, … of y, `size` of them.
template <class Draw>
void for_each_key(const OpCall& call, const TensorView& keys,
                  const TensorView& y, Draw&& draw) {
  const std::int64_t count = keys.size() / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t size = y.size() / count;
    draw(random_stream(call.attributes, keys.as<std::int64_t>() + 2 * i),
         i * size, size);
  }
}

// Throws through call.error unless the operand is a key, i64[2].
inline void require_key(const OpCall& call, std::size_t input) {
  if (call.input(input) == TensorType{DType::kI64, {2}}) return;
  throw call
      .error("the key must be i64[2], got {}", to_string(call.input(input)))
      .hint("it holds the seed and the step");
}

// The axes of a tensor of keys before its last one. Each key draws for itself,
// so these lead the result. Throws through call.error for what is no tensor of
// keys.
inline Shape key_axes(const OpCall& call) {
  const TensorType& keys = call.input(0);
  const int rank = keys.shape.rank();
  if (keys.dtype != DType::kI64 || rank < 1 || keys.shape.back() != 2) {
    throw call.error("keys must be i64[…, 2], got {}", to_string(keys))
        .hint("each holds a seed and a step");
  }
  return Shape(keys.shape.first(rank - 1));
}

// What each of the keys draws has the shape of the attribute.
inline TensorType drawn_type(const OpCall& call, DType dtype) {
  Shape shape = key_axes(call);
  for (const Dim dim : call.attributes.get<Shape>("shape"))
    shape.push_back(dim);
  return {dtype, shape};
}

// Inference of draws of floats, whose dtype is an attribute.
inline std::vector<TensorType> infer_floating_draw(const OpCall& call) {
  const auto dtype = call.attributes.get<DType>("dtype");
  if (!is_floating(dtype)) {
    throw call.error("draws floats, not {}", to_string(dtype));
  }
  return {drawn_type(call, dtype)};
}

// Ten rounds of two products and four xors for every four elements.
constexpr int kPhiloxFlops = 15;

// The instances' keys are a tensor of keys.
inline std::vector<Value> batch_keys(const BatchContext& g) {
  return call_again(g, std::array{g.x(0)});
}

// Adds an op from keys to a tensor of the attribute "shape" for each.
inline OpDef& add_drawer(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(keys) -> y")
      .batch(batch_keys)
      .required("shape", Shape())
      .required("stream", std::int64_t{0})
      .traits(kRandom | kNoGradient)
      .cost(elementwise_cost<kPhiloxFlops>);
}

}  // namespace weft
