// Looks at the indices of a call before its kernel runs, which would clamp what
// lies outside of the axis.
//
// Eager calls look always, plans at indices that come in as arguments
// (compiler/index_sources.h). It costs one pass over the indices, where the
// kernel moves a row for each of them.
//
// Threads: immutable.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weft/graph/op.h"

namespace weft {

// An index outside of its axis. Its code is kInvalidArgument.
class IndexError : public Error {
 public:
  using Error::Error;
};

// An axis that is indexed.
struct IndexedAxis {
  Dim size;
  Dim count = 1;  // how many elements are taken from the index on
};

// The operand that holds indices into axes of another tensor. Where there are
// several axes, the operand's last axis has an index for each.
struct IndexOperand {
  std::size_t input;
  std::vector<IndexedAxis> axes;
  bool from_end = true;  // -1 is the last element, as in NumPy
};

// That of a call whose types are all filled in; nothing if the op takes no
// indices. Supplied by weft/ops (ops/support/index_operand.cpp).
std::optional<IndexOperand> index_operand(const OpCall& call);

class IndexCheck {
 public:
  // The call has all types filled in and all dims settled. Nothing comes back
  // if the op takes no indices.
  static std::optional<IndexCheck> of(const OpCall& call);

  // Which operand holds the indices.
  std::size_t input() const { return operand_.input; }
  // How many axes they index.
  std::size_t axis_count() const { return operand_.axes.size(); }
  // The same for a tensor of `type` that holds the indices of `count` of the
  // axes from `first` on.
  IndexCheck of_axes(std::size_t first, std::size_t count,
                     const TensorType& type) const;

  // `indices` is that operand's memory. Throws IndexError that names the op,
  // the operand, and the first value that does not fit with its position.
  void operator()(const void* indices) const;

 private:
  IndexCheck(const OpDef& op, const TensorType& type, IndexOperand operand)
      : op_(&op), type_(type), operand_(std::move(operand)) {}

  // Which axis the index at that place is for.
  const IndexedAxis& axis_at(std::int64_t place) const {
    return operand_.axes[static_cast<std::size_t>(place) % axis_count()];
  }
  bool is_outside(std::int64_t index, const IndexedAxis& axis) const;
  template <class Index>
  bool is_all_inside(const Index* indices) const;
  template <class Index>
  void check(const Index* indices) const;
  [[noreturn]] void fail(std::int64_t value, std::int64_t place) const;

  const OpDef* op_;
  TensorType type_;
  IndexOperand operand_;
};

}  // namespace weft
