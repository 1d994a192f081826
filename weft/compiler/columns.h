// Values that are some of the columns of a wider one: slices along the last
// axis, and parts of splits. A loop reads them where they are.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "weft/graph/function.h"

namespace weft {

struct ColumnRange {
  ValueId whole;
  Dim first;  // column of `whole`
};

// Which columns a value has. Nothing where it has all of them, where the node
// that makes it cuts another axis too or leaves columns out in between, or
// where they are one run of bytes, which needs no copy anyhow (storage.h). Dims
// are static.
std::optional<ColumnRange> columns_of(const Function& function, ValueId id);

}  // namespace weft
