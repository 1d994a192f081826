// The sampler does the same eagerly, staged, and as a function built by hand.
#include <gtest/gtest.h>

#include "examples/l2hmc/by_hand.h"
#include "tests/support/values.h"

#include "weft/base/philox.h"
#include "weft/runtime/jit/jit.h"

namespace weft::l2hmc_test {
namespace {

Tensor key_of(std::int64_t move) {
  return Tensor::of<std::int64_t>({2}, {7, move});
}

class L2hmcTest : public testing::Test {
 protected:
  L2hmcTest() { sampler_.initialize(3); }
  examples::L2hmc sampler_{{.leapfrog_steps = 3}};
};

TEST_F(L2hmcTest, IsTheSameInAllThreeForms) {
  const auto staged = jit([&](const Value& x, const Value& key, bool forward) {
    return sampler_.move(x, key, forward);
  });
  for (const bool forward : {true, false}) {
    examples::L2hmcByHand by_hand(sampler_, 5, forward);
    Tensor x = test::pattern({5, 2}, -2, 2);
    for (int i = 0; i < 3; ++i) {
      const auto eager = sampler_.move(x, key_of(i), forward);
      const auto next = staged(x, key_of(i), forward);
      const auto built = by_hand.move(x, key_of(i));
      EXPECT_TRUE(identical(next.position.tensor(), built[0]));
      EXPECT_TRUE(identical(next.probability.tensor(), built[1]));
      EXPECT_TRUE(test::near(next.probability.tensor(),
                             eager.probability.tensor(), 1e-4));
      x = next.position.tensor();
    }
  }
  EXPECT_EQ(staged.core().graph_count(), 2u);
}

// Chains that start from the mixture stay in it: what the bent steps do to
// volumes is accounted for.
TEST(L2hmc, KeepsTheDistribution) {
  examples::L2hmc sampler({.leapfrog_steps = 3, .step_size = 0.3});
  sampler.initialize(1);
  const auto move = jit([&](const Value& x, const Value& key, bool forward) {
    return sampler.move(x, key, forward);
  });
  constexpr Dim kChains = 2000;
  constexpr int kMoves = 12;
  const Value side = less(uniform(Value(key_of(99)), {kChains, 1}, 2),
                          scalar(0.5, DType::kF32));
  Value x = normal(Value(key_of(99)), {kChains, 2}, 3) +
            where(side, scalar(2, DType::kF32), scalar(-2, DType::kF32));
  double accepted = 0;
  for (int i = 0; i < kMoves; ++i) {
    const bool forward = RandomStream{5}.word(static_cast<unsigned>(i)) % 2;
    const auto next = move(x, key_of(i), forward);
    x = next.position;
    accepted += mean(next.probability).tensor().item() / kMoves;
  }
  EXPECT_GT(accepted, 0.3);
  EXPECT_LT(accepted, 0.999);
  // Each Gaussian has a second moment of 2^2 + 1.
  EXPECT_NEAR(mean(square(x)).tensor().item(), 5, 0.25);
}

}  // namespace
}  // namespace weft::l2hmc_test
