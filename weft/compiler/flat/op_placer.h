// On which rank each op of a flat graph is computed, as lowering asks: the seam
// to place/, which is above.
//
// Threads: immutable while it is asked.
#pragma once

#include <string_view>

#include "weft/graph/location.h"

namespace weft {

struct Draft;

class OpPlacer {
 public:
  virtual ~OpPlacer() = default;
  OpPlacer() = default;
  OpPlacer(const OpPlacer&) = delete;
  OpPlacer& operator=(const OpPlacer&) = delete;

  // The rank that computes an op of that function; negative where nothing says
  // it yet.
  virtual int rank_of(std::string_view function,
                      const Location& location) const = 0;
  // Gives a rank to each op of `draft` that has none (Draft::ranks).
  virtual void place_others(Draft& draft) const = 0;
};

}  // namespace weft
