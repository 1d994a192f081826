// What is known of a step of a plan.
//
// Threads: a value type.
#pragma once

#include <string>
#include <vector>

#include "weft/compiler/step_reads.h"
#include "weft/graph/kernel.h"

namespace weft {

// What a step is, for `weft inspect` and profiles.
struct StepInfo {
  std::string name;                   // "conv2d", "loop(multiply, add, relu)"
  std::string kernel;                 // "onednn:convolution"
  std::string text;                   // the node or nodes in the text form
  std::vector<std::string> declined;  // candidates that did not take it
  std::vector<KernelTime> times;      // measured, of those that competed
  Cost cost;
  StepReads reads;
  // A step that takes a batch a few examples at a time (compiler/chunks.h) says
  // how many, and what its parts by themselves would move through memory.
  Dim chunk = 0;
  double unchunked_bytes = 0;
};

}  // namespace weft
