// Which steps of a plan run together over chunks of the batch (chunks.h).
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "weft/compiler/batch_steps.h"
#include "weft/compiler/chunks.h"

namespace weft {

struct ChunkRun {
  StepList members;         // in order, without transforms
  bool is_chunked = false;  // else they run one after the other
};

// All steps that are no transforms, in an order in which the runs can follow
// each other.
std::vector<ChunkRun> form_chunk_runs(const BatchSteps& steps,
                                      const ChunkOptions& options);

// The examples of a chunk: as many as fit, in chunks of nearly one size.
Dim chunk_size(const BatchSteps& steps, const StepList& parts,
               const ChunkOptions& options);

}  // namespace weft
