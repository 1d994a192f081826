// Which values of a plan lie within the bytes of others, so that no step has to
// copy them: buffers inside of buffers.
//
// - A slice, or a part of a split, that is one run of its operand is a view of
//   it, unless more than twice its bytes would be kept for its sake.
// - An operand of a concatenation along the outermost axis is computed straight
//   into its place there. It belongs to one concatenation; another one copies.
// - A transposition that moves axes of size 1 has the bytes of its operand, as
//   has a broadcast that repeats nothing.
//
// What would not begin at a multiple of kAlignment, which kernels rely on, is
// copied. So is a part that the function returns, as the bytes of a result are
// the caller's.
//
// Threads: immutable once built.
#pragma once

#include <optional>
#include <vector>

#include "weft/compiler/contiguous.h"
#include "weft/compiler/steps.h"

namespace weft {

class Storage {
 public:
  // The bytes of a value: those of `whole` from `offset` on.
  struct Span {
    ValueId whole;
    std::size_t offset = 0;  // bytes
    bool operator==(const Span&) const = default;
  };

  // Decides for `steps`, which are in order, and leaves of them what still has
  // to be copied (PlanStep::copies). The parameters in `overwritten` are
  // donated: nobody should read them for longer than need be. Takes time linear
  // in the edges of the function, which has to live as long.
  Storage(const Function& function, std::vector<PlanStep>& steps,
          const std::vector<ValueId>& overwritten);

  Span of(ValueId id) const;
  // Whether a value has all bytes of its `whole`.
  bool is_whole(ValueId id) const;

  // The nodes of which at least a part is not copied, and how many bytes.
  const std::vector<NodeId>& uncopied() const { return uncopied_; }
  std::size_t uncopied_bytes() const { return uncopied_bytes_; }

 private:
  // A result of a step that is one run of a value.
  struct Part {
    std::size_t step;
    ValueId value;
    std::size_t offset;  // bytes into the step's operand
  };

  void find_views();
  void find_readers(const std::vector<PlanStep>& steps);
  void place_parts(const std::vector<PlanStep>& steps,
                   const std::vector<ValueId>& overwritten);
  std::vector<Part> parts_of(ValueId whole, const std::vector<PlanStep>& steps);
  bool is_kept_anyway(ValueId whole,
                      const std::vector<ValueId>& overwritten) const;
  void place_operands(const Node& node);
  void remove_copies(std::vector<PlanStep>& steps);
  PlanStep without_parts(PlanStep step, const Node& node);
  PlanStep without_operands(PlanStep step, const Node& node);

  // `part` lies in `whole` from now on, and so does what lies in `part`.
  void put(ValueId part, Span place);
  bool is_made_by_step(ValueId id) const;
  std::size_t bytes(ValueId id) const { return function_.type(id).bytes(); }
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  const Function& function_;
  std::vector<std::optional<Span>> places_;        // by value: where it was put
  std::vector<std::vector<std::size_t>> readers_;  // by whole: steps
  std::vector<bool> escapes_;                      // by value: is a result
  std::vector<bool> is_view_;     // by value: a part of an operand
  std::vector<bool> is_decided_;  // by step
  std::vector<NodeId> uncopied_;
  std::size_t uncopied_bytes_ = 0;
};

}  // namespace weft
