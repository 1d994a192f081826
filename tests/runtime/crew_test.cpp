#include "weft/runtime/tagged/crew.h"

#include <array>
#include <gtest/gtest.h>

#include "tests/support/address_limit.h"
#include "tests/support/errors.h"

#include "weft/base/float_mode.h"

namespace weft::crew_test {
namespace {

bool makes_subnormals() {
  volatile float small = 1e-30f;
  return small * 1e-10f != 0;
}

TEST(Crew, ComputesInTheFloatModeOfItsCaller) {
  Crew crew(2);
  std::array<bool, 2> made{};
  const auto work = [&](int worker) {
    made.at(static_cast<std::size_t>(worker)) = makes_subnormals();
  };
  {
    const FloatModeScope flushing(flushing_subnormals());
    crew.run(work);
    EXPECT_EQ(made, (std::array{false, false}));
  }
  // Between runs its threads keep nothing of the caller's.
  crew.run(work);
  EXPECT_EQ(made, (std::array{true, true}));
}

TEST(Crew, SaysWhereThereAreTooFewThreads) {
  const test::AddressLimit limit(std::size_t{64} << 20U);
  test::expect_error(ErrorCode::kExhausted, {"of 1000 workers"},
                     [] { Crew(1000); });
}

}  // namespace
}  // namespace weft::crew_test
