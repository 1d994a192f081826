// Runs of steps that go along a batch become one step each, which takes a few
// examples at a time through all of them: what one part leaves another finds in
// the cache, and what only parts of one step read never exists for the whole
// batch. That is how statistics are gathered while a convolution's result is
// still there, and how a convolution's operand is normalised as it is read,
// forward and backward (Jung et al., "Restructuring batch normalization to
// accelerate CNN training", MLSys 2019, by chunks of the batch instead of tiles
// within a kernel).
//
// - A run ends where a sum over the batch is needed: at the statistics of a
//   batch norm, and at the sums of its gradient.
// - What is made of stored values by one loop or concatenation, and is no
//   smaller than they are, is computed again by every run that reads it,
//   instead of being stored for it.
//
// Threads: pure functions.
#pragma once

#include "weft/compiler/batch_norm_form.h"
#include "weft/compiler/steps.h"

namespace weft {

struct ChunkOptions {
  // A run whose values all fit finds them in the cache anyhow.
  std::size_t cache_bytes;
  // What a chunk's values should take at most.
  std::size_t chunk_bytes;
  // Each takes as many chunks as the others, where there are enough examples.
  int threads = 1;
  // Whether a run stays as it is where it would save too little.
  bool must_pay = true;
};

// The steps with runs of them chunked, in an order in which they can run.
// `steps` is what form_steps() gives.
std::vector<PlanStep> chunk_steps(const Function& function,
                                  std::vector<PlanStep> steps,
                                  const ChunkOptions& options);

// The same as far as `form` says, for the caches of this machine. Functions
// without statistics of a batch stay as they are.
std::vector<PlanStep> chunk_steps(const Function& function,
                                  std::vector<PlanStep> steps,
                                  BatchNormForm form);

}  // namespace weft
