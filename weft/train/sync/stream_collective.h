// The sparse all-reduce of a recipe, from its text.
//
// Threads: a value; parsing is pure.
#pragma once

#include <memory>
#include <string>

#include "weft/comm/sparse/all_reduce.h"

namespace weft {

struct StreamCollective {
  const SparseAllReduceDef* algorithm = nullptr;  // null: choose
  // What dense phases send values through, or may where the algorithm is
  // chosen; null: as they are.
  std::unique_ptr<ValueCodec> quantizer;
  double quantized_value_bytes = 0;  // what it makes of a value; 0 without
};

// "dsar", "auto", and with a codec for the dense phase "dsar(qsgd(4))",
// "auto(qsgd(4))". Throws Error(kInvalidArgument).
StreamCollective parse_stream_collective(const std::string& text);

}  // namespace weft
