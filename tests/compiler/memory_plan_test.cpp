#include "weft/compiler/memory_plan.h"

#include <gtest/gtest.h>

#include "weft/base/philox.h"
#include "weft/tensor/allocator.h"

namespace weft::memory_plan_test {
namespace {

TEST(MemoryPlan, ReusesBytesOfDeadBuffers) {
  const MemoryPlan plan =
      plan_memory({{1024, 0, 1}, {1024, 1, 2}, {1024, 2, 3}});
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.arena_bytes, 2048u);
}

TEST(MemoryPlan, LivingBuffersNeverOverlap) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const RandomStream random{seed, 1, 0};
    std::vector<Lifetime> buffers;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const std::size_t first = random.word(3 * i) % 40;
      buffers.push_back({random.word(3 * i + 1) % 5000, first,
                         first + random.word(3 * i + 2) % 10});
    }
    const MemoryPlan plan = plan_memory(buffers);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % kAlignment, 0u);
      EXPECT_LE(plan.offsets[a] + buffers[a].bytes, plan.arena_bytes);
      for (std::size_t b = 0; b < a; ++b) {
        const bool meet = buffers[a].first <= buffers[b].last &&
                          buffers[b].first <= buffers[a].last;
        const bool apart =
            plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
            plan.offsets[b] + buffers[b].bytes <= plan.offsets[a] ||
            buffers[a].bytes == 0 || buffers[b].bytes == 0;
        EXPECT_TRUE(!meet || apart) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace weft::memory_plan_test
