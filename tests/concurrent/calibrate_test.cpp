#include "weft/concurrent/coherence/calibrate.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sched.h>

#include "tests/support/errors.h"

namespace weft::concurrent::calibrate_test {
namespace {

// What the loads take on a machine of known costs: alone 30 ns, and together
// every second line comes from the other core.
CalibrationTimes times_of(const CoherenceCosts& costs, int updates_a_tenure) {
  const auto times = [](double together, double alone) {
    // Rounds that were disturbed, some by much, change no median.
    return LoadTimes{{together + 900, together, together, together, 0},
                     {alone, alone + 70, alone}};
  };
  const double turn = costs.atomic_ns + costs.tenure_ns + costs.handover_ns;
  CalibrationTimes found;
  found.chained = times(30 + costs.transfer_ns / 2, 30);
  found.drawn = times(30 + (costs.transfer_ns - costs.ahead_ns) / 2, 30);
  found.loaded =
      times(30 + costs.transfer_ns / 2 * (costs.migrates ? 1 : 2), 30);
  found.tight = times(2 * turn / updates_a_tenure, costs.atomic_ns);
  for (const double collision : {25.0, 0.0, 40.0}) {
    found.rested.push_back(times(2 * turn + collision, 50));
  }
  return found;
}

TEST(Calibrate, FindsTheCostsOfAKnownMachine) {
  for (const bool migrates : {false, true}) {
    for (const int updates : {1, 2, 6}) {
      CoherenceCosts costs;
      costs.atomic_ns = 5;
      costs.transfer_ns = 85;
      costs.ahead_ns = 40;
      costs.migrates = migrates;
      costs.tenure_ns = std::max(0.0, updates - 1.5) * costs.atomic_ns;
      costs.handover_ns = 60;
      CoherenceCosts alone;
      alone.atomic_ns = costs.atomic_ns;
      const Calibration found = calibration_of(times_of(costs, updates), alone);
      EXPECT_NEAR(found.costs.transfer_ns, 85, 1e-9);
      EXPECT_NEAR(found.costs.ahead_ns, 40, 1e-9);
      EXPECT_EQ(found.costs.migrates, migrates);
      EXPECT_NEAR(found.costs.tenure_ns, costs.tenure_ns, 1e-9);
      EXPECT_NEAR(found.costs.handover_ns, 60, 1e-9);
      EXPECT_NEAR(
          found.contended_update_ns,
          (costs.atomic_ns + costs.tenure_ns + costs.handover_ns) / updates,
          1e-9);
      EXPECT_NEAR(found.transfer_low_ns, 85, 1e-9);
      EXPECT_NEAR(found.transfer_high_ns, 85, 1e-9);
    }
  }
}

TEST(Calibrate, RefusesTimesOfThreadsThatTookTurns) {
  CoherenceCosts costs;
  costs.transfer_ns = 0;
  weft::test::expect_error(ErrorCode::kUnavailable,
                           {"did not run at the same time", "no other work"},
                           [&] { calibration_of(times_of(costs, 2), costs); });
}

// How much, only a quiet machine can tell; what must hold on any is that all
// was measured, or that a busy one is told.
TEST(Calibrate, LeavesNothingUnmeasured) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) {
    weft::test::expect_error(ErrorCode::kUnavailable, {"takes two"},
                             [] { calibrate(); });
    return;
  }
  Calibration found;
  try {
    found = calibrate();
  } catch (const Error& busy) {
    EXPECT_NE(busy.message().find("at the same time"), std::string::npos);
    return;
  }
  EXPECT_GT(found.costs.load_ns, 0);
  EXPECT_GT(found.costs.atomic_ns, 0);
  EXPECT_GT(found.costs.transfer_ns, 0);
  EXPECT_GE(found.costs.ahead_ns, 0);
  EXPECT_LE(found.costs.ahead_ns, found.costs.transfer_ns);
  EXPECT_GE(found.costs.tenure_ns, 0);
  EXPECT_GT(found.costs.pause_ns, 0);
  EXPECT_GT(found.costs.clock_ns, 0);
  EXPECT_GT(found.costs.yield_ns, 0);
  EXPECT_LE(found.transfer_low_ns, found.transfer_high_ns);
}

}  // namespace
}  // namespace weft::concurrent::calibrate_test
