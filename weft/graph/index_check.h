// Looks at the indices of a call before its kernel runs, which would clamp what
// lies outside of the axis.
//
// Eager calls look always, plans at indices that come in as arguments
// (runtime/plan.h). It costs one pass over the indices, where the kernel moves
// a row for each of them.
//
// Threads: immutable.
#pragma once

#include <optional>

#include "weft/graph/op.h"

namespace weft {

// An index outside of its axis. Its code is kInvalidArgument.
class IndexError : public Error {
 public:
  using Error::Error;
};

// The operand that holds indices into an axis of another tensor.
struct IndexOperand {
  std::size_t input;
  Dim size;              // of the axis
  bool from_end = true;  // -1 is the last element, as in NumPy
};

// That of a call whose types are all filled in; nothing if the op takes no
// indices. Supplied by weft/ops (ops/support/index_operand.cpp).
std::optional<IndexOperand> index_operand(const OpCall& call);

class IndexCheck {
 public:
  // For a call with all types filled in and all dims settled. Nothing if the
  // op takes no indices, or has nothing to choose from (inference sees to
  // that).
  static std::optional<IndexCheck> of(const OpCall& call);

  // Which operand holds the indices.
  std::size_t input() const { return operand_.input; }

  // `indices` is that operand's memory. Throws IndexError that names the op,
  // the operand, and the first value that does not fit with its position.
  void operator()(const void* indices) const;

 private:
  IndexCheck(const OpDef& op, const TensorType& type, IndexOperand operand)
      : op_(&op), type_(type), operand_(operand) {}

  template <class Index>
  void check(const Index* indices) const;
  [[noreturn]] void fail(std::int64_t value, std::int64_t place) const;

  const OpDef* op_;
  TensorType type_;
  IndexOperand operand_;
};

}  // namespace weft
