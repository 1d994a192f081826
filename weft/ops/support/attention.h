// Attention and its gradient: what their references and kernels share, and the
// references. The first three operands are query, key and value.
#pragma once

#include <cmath>
#include <limits>

#include "weft/ops/support/elementwise.h"

namespace weft {

inline double attention_scale(const Attributes& attributes, Dim width) {
  const double scale = attributes.real("scale");
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(width));
}

// Where the optional mask stands among the operands of the two ops.
inline constexpr std::size_t kMaskOfAttention = 3;
inline constexpr std::size_t kMaskOfGradient = 6;

// The score of a key that the query does not look at.
inline constexpr double kHiddenScore = -std::numeric_limits<double>::infinity();

// The sizes of a call whose dims are all known.
struct AttentionSizes {
  std::int64_t stacks;  // the product of the leading axes
  Dim queries, keys, width, value_width;
  double scale;
  bool causal;

  // `mask` is the operand that holds the mask, if the call has one.
  AttentionSizes(const OpCall& call, std::size_t mask)
      : AttentionSizes(
            pairs_of(call), call.input(0).shape.back(),
            call.input(2).shape.back(), call.attributes,
            call.has_input(mask) ? &call.input(mask).shape : nullptr) {}
  // `pairs` are the leading axes, the queries and the keys; `mask` broadcasts
  // to them, or is null.
  AttentionSizes(const Shape& pairs, Dim key_width, Dim width_of_values,
                 const Attributes& attributes, const Shape* mask)
      : stacks(product(pairs.first(pairs.rank() - 2))),
        queries(from_end(pairs, 2)),
        keys(from_end(pairs, 1)),
        width(key_width),
        value_width(width_of_values),
        scale(attention_scale(attributes, width)),
        causal(attributes.flag("causal")) {
    if (mask == nullptr) return;
    mask_ = BroadcastIndex(*mask, pairs);
    if (from_end(*mask, 1) != 1) key_step_ = 1;
    if (from_end(*mask, 2) != 1) query_step_ = from_end(*mask, 1);
  }

  // Where the mask of a stack begins; from there on it has these steps.
  std::int64_t mask_begin(std::int64_t stack) const {
    // A mask of no queries or keys has no element to begin with.
    return queries * keys == 0 ? 0 : mask_(stack * queries * keys);
  }
  std::int64_t mask_at(Dim query, Dim key) const {
    return query * query_step_ + key * key_step_;
  }
  // Whether the mask says the same for all queries of a stack.
  bool mask_is_of_keys() const { return query_step_ == 0; }

 private:
  static Shape pairs_of(const OpCall& call) {
    Shape pairs = call.input(0).shape;
    pairs[pairs.rank() - 1] = from_end(call.input(1).shape, 2);
    return pairs;
  }
  // An axis counted from the last one, 1, on; 1 where there is none.
  static Dim from_end(const Shape& shape, int axis) {
    return axis > shape.rank() ? 1 : shape[shape.rank() - axis];
  }

  BroadcastIndex mask_{Shape(), Shape()};
  Dim query_step_ = 0;
  Dim key_step_ = 0;
};

void attention_reference(const OpCall& call, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs);
void attention_gradient_reference(const OpCall& call,
                                  std::span<const TensorView> inputs,
                                  std::span<const TensorView> outputs);

}  // namespace weft
