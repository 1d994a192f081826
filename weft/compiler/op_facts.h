// What the registries know of each op, for a reader: docs/ops.md and `weft ops`
// are made of it.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/tensor/dtype.h"

namespace weft {

class OpDef;

struct OpFacts {
  std::string name;
  std::string signature;
  std::string summary;
  // The dtypes of the numbers that it computes with; empty for an op that runs
  // functions.
  std::vector<DType> dtypes;
  std::string gradient;  // "rule", "lowered", "none flows", "of its functions"
  std::string batching;  // "rule", "lowered" or "none"
  // The kernels that may run it, in the order in which they are tried; "loop"
  // is a pass over memory that it may share with others.
  std::vector<std::string> kernels;
};

OpFacts facts_of(const OpDef& op);
// The facts of all ops, by name.
std::vector<OpFacts> all_op_facts();

}  // namespace weft
