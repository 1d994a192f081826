// Tests of transactions that run twice: in software alone, and in hardware
// where there is some.
#pragma once

#include <gtest/gtest.h>

#include "weft/concurrent/stm/stm.h"

namespace weft::test {

// The parameter says whether hardware is tried.
class StmModes : public testing::TestWithParam<bool> {
 protected:
  static concurrent::StmOptions options(
      concurrent::ClockKind clock = concurrent::ClockKind::kGv4,
      concurrent::Locking locking = concurrent::Locking::kCommitTime) {
    return {.clock = clock,
            .locking = locking,
            .hardware_attempts = GetParam() ? 8 : 0};
  }
};

}  // namespace weft::test
