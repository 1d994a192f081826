#include "weft/compiler/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace weft {

MemoryPlan plan_memory(const std::vector<Lifetime>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Equal sizes keep their order, so that a plan does not depend on the sort of
  // a library.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) {
                     return buffers[a].bytes > buffers[b].bytes;
                   });
  MemoryPlan plan;
  plan.offsets.resize(buffers.size(), 0);
  std::vector<std::size_t> placed;  // in order of their offsets
  // The large ones come first, as small ones fit into the gaps that these
  // leave, and not the other way round.
  for (const std::size_t index : order) {
    const Lifetime& buffer = buffers[index];
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      const Lifetime& neighbour = buffers[other];
      const bool meet =
          neighbour.first <= buffer.last && buffer.first <= neighbour.last;
      if (!meet) continue;
      // Neighbours come by rising offset, so the first gap that is large enough
      // is the lowest.
      if (offset + buffer.bytes <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + aligned(neighbour.bytes));
    }
    plan.offsets[index] = offset;
    plan.arena_bytes =
        std::max(plan.arena_bytes, offset + aligned(buffer.bytes));
    const auto place =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](std::size_t value, std::size_t other) {
                           return value < plan.offsets[other];
                         });
    placed.insert(place, index);
  }
  return plan;
}

}  // namespace weft
