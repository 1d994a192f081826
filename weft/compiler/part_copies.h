// A kernel that copies runs of bytes: what is left of a split or a
// concatenation whose other parts need no copy (storage.h).
#pragma once

#include <memory>
#include <vector>

#include "weft/compiler/steps.h"
#include "weft/graph/kernel.h"

namespace weft {

std::unique_ptr<PreparedKernel> copy_parts(const std::vector<PartCopy>& copies);

}  // namespace weft
