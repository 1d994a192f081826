#include "weft/concurrent/coherence/calibrate.h"

#include <gtest/gtest.h>
#include <thread>

#include "tests/support/errors.h"

namespace weft::concurrent {
namespace {

// How much, only a quiet machine can tell; what must hold on any: all was
// measured, and a simulation takes it.
TEST(Calibrate, MeasuresCostsThatASimulationTakes) {
  if (std::thread::hardware_concurrency() < 2) {
    test::expect_error(ErrorCode::kUnavailable, {"takes two"},
                       [] { calibrate(); });
    return;
  }
  const Calibration found = calibrate();
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
  const Simulation simulation({.costs = found.costs});
}

}  // namespace
}  // namespace weft::concurrent
