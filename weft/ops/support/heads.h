// Where the heads of multi_head_attention lie in its operands, and how large
// all is: what the op and its kernel share.
#pragma once

#include <array>

#include "weft/ops/support/attention.h"

namespace weft {

// Matrices inside of an operand, one for each batch and head: where the rows
// of one begin, in elements.
struct HeadRows {
  std::size_t first = 0;  // of all
  std::size_t heads = 1;
  std::size_t batch_step, head_step = 0, row_step;

  std::size_t begin(std::size_t stack) const {
    return first + stack / heads * batch_step + stack % heads * head_step;
  }
  // Matrices behind each other.
  static HeadRows dense(std::size_t rows, std::size_t width) {
    return {.batch_step = rows * width, .row_step = width};
  }
};

// A call of the op. Throws Error(kInvalidArgument) for operands that do not fit
// each other or the attributes.
class HeadSizes {
 public:
  explicit HeadSizes(const OpCall& call);

  static constexpr std::size_t kMask = 3;

  const TensorType& result() const { return result_; }
  // [batch, heads, queries, keys]
  const Shape& pairs() const { return pairs_; }
  Dim value_width() const { return widths_[2]; }

  // --- For calls whose dims are all known
  // -------------------------------------
  AttentionSizes attention(const OpCall& call) const;
  HeadRows operand(const OpCall& call, std::size_t index) const;
  HeadRows rows_of_result(const OpCall& call) const;

 private:
  struct Operand {
    Dim batch, length;
  };
  Operand checked_operand(const OpCall& call, std::size_t index);
  void check_mask(const OpCall& call) const;

  std::int64_t heads_;
  bool has_length_first_;
  std::array<Dim, 3> widths_ = {};  // of a head of each operand
  std::array<std::int64_t, 3> steps_ = {};
  TensorType result_;
  Shape pairs_;
};

}  // namespace weft
