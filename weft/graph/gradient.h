// What a gradient rule is given.
//
// Threads: that of whoever differentiates.
#pragma once

#include "weft/graph/value.h"

namespace weft {

// It is passed to gradient rules. They are written with ops, so one rule serves
// eager, staged and higher-order differentiation.
class GradientContext {
 public:
  GradientContext(const OpDef& op, const Attributes& attributes,
                  std::span<const Value> inputs, std::span<const Value> outputs,
                  std::span<const Value> output_gradients)
      : op_(op),
        attributes_(attributes),
        inputs_(inputs),
        outputs_(outputs),
        output_gradients_(output_gradients) {}

  const OpDef& op() const { return op_; }
  const Attributes& attributes() const { return attributes_; }
  const Value& x(std::size_t index) const { return inputs_[index]; }
  std::size_t input_count() const { return inputs_.size(); }
  const Value& y(std::size_t index = 0) const { return outputs_[index]; }
  std::size_t output_count() const { return outputs_.size(); }
  // The gradient that arrived for an output. Undefined (is_defined() false)
  // when nothing downstream used it; never for a single-output op.
  const Value& dy(std::size_t index = 0) const {
    return output_gradients_[index];
  }

 private:
  const OpDef& op_;
  const Attributes& attributes_;
  std::span<const Value> inputs_;
  std::span<const Value> outputs_;
  std::span<const Value> output_gradients_;
};

// A rule for ops with a lowered form: differentiates what g.op().lower()
// expresses. Supplied by weft/autodiff.
Gradients lowered_gradient(const GradientContext& g);

}  // namespace weft
