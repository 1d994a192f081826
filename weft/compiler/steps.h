// Cuts a function into the steps of a plan: a node with a kernel of its own,
// or a group of elementwise nodes that run as one loop.
//
// Groups grow along edges between nodes of the same iteration shape, as long
// as no path leaves a group and comes back. A value that several groups need
// is either stored by one and read by the others, or computed again by each,
// whichever moves fewer bytes.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/function.h"
#include "weft/kernels/loop/loop_kernel.h"

namespace weft {

// A run of bytes from an operand of a step to one of its results.
struct PartCopy {
  std::size_t input;
  std::size_t output;
  std::size_t from_offset;
  std::size_t to_offset;
  std::size_t bytes;
};

struct PlanStep {
  std::vector<NodeId> nodes;     // in order; one, unless a loop
  std::vector<ValueId> inputs;   // what it reads from memory
  std::vector<ValueId> outputs;  // what it writes to memory
  std::optional<LoopProgram> loop;
  // The program input behind each of `inputs`.
  std::vector<std::size_t> loop_inputs;
  // What is left to copy of a node whose other parts lie where they belong
  // (storage.h); `inputs` and `outputs` are those of the rest.
  std::vector<PartCopy> copies;
  // Steps that run in turn over `chunk` examples of a batch at a time
  // (chunks.h). What only they read is there for one chunk at a time.
  std::vector<PlanStep> parts;
  Dim chunk = 0;
  double unchunked_bytes = 0;  // that the parts would move by themselves
};

// They come in an order in which they can run. Constants and views are no
// steps: they take no time.
std::vector<PlanStep> form_steps(const Function& function, bool fuse);

// The value whose bytes `id` shares through views; itself if it is no view.
ValueId storage_of(const Function& function, ValueId id);

}  // namespace weft
