// What a batching rule is given: one application of an op, made by B instances
// at once.
//
// Threads: that of the builder.
#pragma once

#include "weft/graph/value.h"

namespace weft {

// It is passed to batching rules. They are written with ops, like gradient
// rules.
//
// A rule returns the op's results with the batch as their leading axis. A
// sum's rule returns them without it, summed over the instances; if it returns
// nothing, the stacked result is summed.
class BatchContext {
 public:
  virtual ~BatchContext() = default;

  // The call that each instance makes: no type in it has the batch axis.
  const OpCall& call() const { return call_; }
  const OpDef& op() const { return call_.op; }
  const Attributes& attributes() const { return call_.attributes; }
  std::size_t input_count() const { return call_.inputs.size(); }
  // The number of instances, a symbol.
  Dim size() const { return size_; }

  // Whether the instances differ in this operand.
  virtual bool is_batched(std::size_t input) const = 0;
  // [B, dims…] for a batched operand, [dims…] for one that all share.
  virtual Value x(std::size_t input) const = 0;
  // The sum of the instances' operands: [dims…].
  virtual Value sum(std::size_t input) const = 0;

  // The error for a rule that cannot batch a call, with the reason.
  Error unsupported(std::string_view reason) const {
    return {ErrorCode::kUnsupported, op().name(), "cannot be batched: {}",
            reason};
  }

 protected:
  BatchContext(const OpCall& call, Dim size) : call_(call), size_(size) {}

 private:
  OpCall call_;
  Dim size_;
};

}  // namespace weft
