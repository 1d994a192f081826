// Parameters that are treated in another way than the rest, by their names:
// with another rate, other options or another optimizer.
//
// Threads: immutable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/optim/optimizer.h"

namespace weft {

struct ParameterGroup {
  std::string pattern;  // of names, as in base/wildcard.h
  double lr_scale = 1;  // times the rate
  std::shared_ptr<const Optimizer> optimizer;
};

// `rest` for all parameters but those of `groups`, of which a parameter belongs
// to the first whose pattern fits. What the optimizer of group i remembers for
// all its parameters together is called "SLOT.group-i" in checkpoints, from 0.
std::unique_ptr<Optimizer> group_optimizers(std::unique_ptr<Optimizer> rest,
                                            std::vector<ParameterGroup> groups);

}  // namespace weft
