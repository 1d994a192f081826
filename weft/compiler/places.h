// Where the bytes of every value are during a run: in an argument, a result, a
// constant, or the arena of the plan.
//
// Threads: immutable once built.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "weft/compiler/memory_plan.h"
#include "weft/compiler/storage.h"

namespace weft {

struct Place {
  enum Kind { kNone, kArgument, kResult, kConstant, kArena } kind = kNone;
  std::size_t index = 0;   // argument, result, constant or arena buffer
  std::size_t offset = 0;  // bytes, within that
};

// A result that no step could write where the caller wants it.
struct ResultCopy {
  Place from;
  std::size_t result;
  std::size_t bytes;
};

// Whether the kernel of a step may write an output over inputs that all have
// the same bytes; all are positions in the step.
using CanOverwrite =
    std::function<bool(std::size_t step, const std::vector<std::size_t>& inputs,
                       std::size_t output)>;

class Places {
 public:
  // For `steps` in order, as `storage` has left them. (parameter, result) pairs
  // in `donated` share memory. Throws Error(kUnsupported) if a donated
  // parameter is also another result.
  Places(const Function& function, const std::vector<PlanStep>& steps,
         const Storage& storage,
         const std::vector<std::pair<std::size_t, std::size_t>>& donated,
         const CanOverwrite& can_overwrite);

  Place of(ValueId id) const;
  // The tensors of constants, which steps read where they lie.
  const std::vector<Tensor>& constants() const { return constants_; }
  // They are made when all steps have run.
  const std::vector<ResultCopy>& copies() const { return copies_; }
  // The step that writes the last bytes of a result, by result; the number of
  // steps if none does.
  const std::vector<std::size_t>& last_writers() const { return writers_; }

  const std::vector<Lifetime>& buffers() const { return buffers_; }
  const std::vector<std::size_t>& buffer_offsets() const {
    return memory_.offsets;
  }
  std::size_t arena_bytes() const { return memory_.arena_bytes; }
  // Sum of all buffers without reuse.
  std::size_t unshared_bytes() const { return unshared_bytes_; }

 private:
  using Donated = std::vector<std::pair<std::size_t, std::size_t>>;

  void place_given();
  void find_lifetimes();
  void place_donated(const Donated& donated, const CanOverwrite& can_overwrite);
  void place_results(const Donated& donated);
  std::optional<std::size_t> dying_operand(
      std::size_t step, ValueId id, const CanOverwrite& can_overwrite) const;
  void place_in_arena(const CanOverwrite& can_overwrite);
  void find_writers();
  bool may_overwrite(std::size_t step, ValueId input, ValueId output,
                     const CanOverwrite& can_overwrite) const;

  Place& place(ValueId whole) { return places_[at(whole)]; }
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  const Function& function_;
  const std::vector<PlanStep>& steps_;
  const Storage& storage_;
  std::vector<Place> places_;       // by value; of wholes
  std::vector<std::size_t> first_;  // by whole: the step that writes it first
  std::vector<std::size_t> last_;   // by whole: the last that reads or writes
  std::vector<Tensor> constants_;
  std::vector<ResultCopy> copies_;
  std::vector<std::size_t> writers_;
  std::vector<Lifetime> buffers_;
  MemoryPlan memory_;
  std::size_t unshared_bytes_ = 0;
};

}  // namespace weft
