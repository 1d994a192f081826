// Functions that branch, loop and call each other, over many instances.
//
// What instances share is decided once. Where they differ in a predicate, both
// branches run and each instance takes its result; where they differ in when a
// loop ends, it runs until the last has ended, and those before it keep what
// they have. A branch that itself branches, loops or calls runs only if some
// instance takes it, so that a recursion ends where the deepest does: each
// function is told by a mask for which instances it is run.
//
// Threads: as Program.
#pragma once

#include "weft/batching/differing.h"
#include "weft/batching/instances.h"

namespace weft {

class BatchedControl {
 public:
  // `differing` knows all that will be batched; both outlive this.
  BatchedControl(Program& program, const Differing& differing, Dim size)
      : program_(program), differing_(differing), size_(size) {}

  // How a function is run over many instances.
  struct Use {
    Flags parameters;
    Flags results;  // those that are stacked, though they may not differ
    // The mask, a bool[B], comes behind so many parameters: those of the first
    // phase (graph/phases.h).
    std::size_t first;
  };
  // The function for such a use. Made once, and declared before its body, so
  // that recursion finds it.
  FunctionRef function(const FunctionRef& from, const Use& use);
  // What the function being built computes of `from`, for the instances of
  // `mask`.
  std::vector<Value> results(const Function& from, const Use& use,
                             std::span<const Value> arguments,
                             const Value& mask);

 private:
  class Body;

  FunctionRef zeros(const FunctionRef& like);
  bool has_control(const FunctionRef& function) const;

  Program& program_;
  const Differing& differing_;
  Dim size_;
};

}  // namespace weft
