#include "weft/base/float_mode.h"

#include <atomic>
#include <gtest/gtest.h>

#include "weft/base/fiber/fiber.h"
#include "weft/base/parallel.h"
#include "weft/base/team.h"

namespace weft::float_mode_test {
namespace {

// Whether the calling thread makes a subnormal number of two that are not.
bool makes_subnormals() {
  volatile float small = 1e-30f;
  return small * 1e-10f != 0;
}

// Whether one that is there counts, or is a zero.
bool reads_subnormals() {
  volatile float subnormal = 1e-40f;
  return subnormal * 1e30f != 0;
}

TEST(FloatMode, FlushesWithinItsScopeAlone) {
  EXPECT_TRUE(makes_subnormals() && reads_subnormals());
  {
    const FloatModeScope flushing(flushing_subnormals());
    EXPECT_FALSE(makes_subnormals() || reads_subnormals());
    const FloatModeScope again(flushing_subnormals());
    EXPECT_FALSE(makes_subnormals() || reads_subnormals());
  }
  EXPECT_TRUE(makes_subnormals() && reads_subnormals());
}

TEST(FloatMode, ThreadsComputeInTheirCallers) {
  const int before = thread_count();
  set_thread_count(2);
  const auto ranges_with_subnormals = [] {
    std::atomic<int> count{0};
    parallel_for(2, 1, [&](std::int64_t begin, std::int64_t end) {
      if (makes_subnormals()) count += static_cast<int>(end - begin);
    });
    return count.load();
  };
  const auto team_has_subnormals = [] {
    std::atomic<bool> has{false};
    run_team(2, [&](TeamMember&) {
      if (makes_subnormals()) has = true;
    });
    return has.load();
  };
  EXPECT_EQ(ranges_with_subnormals(), 2);
  {
    const FloatModeScope flushing(flushing_subnormals());
    EXPECT_EQ(ranges_with_subnormals(), 0);
    EXPECT_FALSE(team_has_subnormals());
  }
  // Nobody keeps what was the caller's.
  EXPECT_EQ(ranges_with_subnormals(), 2);
  EXPECT_TRUE(team_has_subnormals());
  set_thread_count(before);
}

// A simulated rank that steps aside within a training step leaves its mode to
// nobody, and has it when it goes on.
TEST(FloatMode, FibersHaveTheirOwn) {
  Fiber fiber;
  bool flushed_after = false;
  fiber.start([&] {
    const FloatModeScope flushing(flushing_subnormals());
    fiber.suspend();
    flushed_after = !makes_subnormals();
  });
  fiber.resume();
  EXPECT_TRUE(makes_subnormals());
  fiber.resume();
  EXPECT_TRUE(flushed_after);
  EXPECT_TRUE(makes_subnormals());
}

}  // namespace
}  // namespace weft::float_mode_test
