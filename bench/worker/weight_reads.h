// The reads of a recurrent layer without its arithmetic: what disturbs them
// disturbs any kernel of it.
#pragma once

#include <cstdint>

#include "weft/base/huge_pages.h"

namespace weft::bench {

class WeightReads {
 public:
  // Floats that each step reads, and those that a sequence reads once.
  WeightReads(std::int64_t of_step, std::int64_t of_sequence,
              std::int64_t steps);

  // Reads those of a sequence; the process's threads share each read, and meet
  // after it.
  void run() const;

 private:
  HugeVector<float> of_step_, of_sequence_;
  std::int64_t steps_;
};

}  // namespace weft::bench
