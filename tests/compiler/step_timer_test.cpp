// Steps that are timed by themselves.
#include "weft/compiler/step_timer.h"

#include <gtest/gtest.h>

#include "weft/base/cpu.h"
#include "weft/compiler/caches.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"

namespace weft::step_timer_test {
namespace {

// A plan within a memory times steps by the hundred, all of whose operands are
// cold: it sweeps no caches, which would take twice their size.
TEST(StepTimer, SweepsNoCachesForWhatItCanEvict) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {64, 64}}, "x");
  const Function function = builder.build([&] { return std::vector{exp(x)}; });
  const std::vector<PlanStep> steps = form_steps(function, /*fuse=*/true);
  ASSERT_EQ(steps.size(), 1u);
  const std::uint64_t before = held_memory_bytes();
  EXPECT_GT(time_step(function, steps[0], {{.is_cold = true}}).least, 0);
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::uint64_t swept = can_evict() ? 0 : 2 * last_level_cache_bytes();
  // A library that is called for the first time takes some.
  EXPECT_LT(held_memory_bytes(), before + swept + 16 * kMiB);
}

}  // namespace
}  // namespace weft::step_timer_test
