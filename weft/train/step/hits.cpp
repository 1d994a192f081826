#include "weft/train/step/hits.h"

#include "weft/ops/compare.h"

namespace weft {

Value count_hits(const Value& logits, const Value& target) {
  const Value hits = equal(argmax(logits, -1), cast(target, DType::kI64));
  return sum(cast(hits, DType::kF32));
}

}  // namespace weft
