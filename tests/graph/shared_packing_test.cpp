// What is packed once: for whom, and for how long.
#include "weft/graph/shared_packing.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace weft::shared_packing_test {
namespace {

Tensor ones(Dim size) {
  const Tensor tensor = Tensor::empty({DType::kF32, {size}});
  std::ranges::fill(tensor.span<float>(), 1.f);
  return tensor;
}

TEST(SharedPacking, MakesTheSameOnceWhileSomebodyHoldsIt) {
  const Tensor weights = ones(4);
  int made = 0;
  const auto make = [&] {
    ++made;
    return weights.clone();
  };
  auto first = shared_packing(weights, "a", make);
  EXPECT_EQ(shared_packing(weights, "a", make), first);
  EXPECT_EQ(made, 1);
  EXPECT_NE(shared_packing(weights, "b", make), first);
  EXPECT_NE(shared_packing(ones(4), "a", make), first);
  EXPECT_EQ(made, 3);
  // Weights that have changed since nobody held them are packed anew.
  first.reset();
  weights.data<float>()[0] = 2;
  EXPECT_EQ(shared_packing(weights, "a", make)->item(), 2);
}

TEST(SharedPacking, KeepsWhatItWasMadeOf) {
  Tensor weights = ones(4);
  const auto packed = shared_packing(weights, "a", [&] { return ones(4); });
  EXPECT_FALSE(weights.owns_uniquely());
  // Other weights cannot come to lie at the address, and be taken for these.
  weights = Tensor();
  const Tensor others = ones(4);
  EXPECT_NE(shared_packing(others, "a", [&] { return ones(4); }), packed);
}

TEST(SharedPacking, FailsAsWhatMakesItDoes) {
  const Tensor weights = ones(4);
  const auto fail = []() -> Tensor {
    throw Error(ErrorCode::kExhausted, "pack", "full");
  };
  EXPECT_THROW(shared_packing(weights, "a", fail), Error);
  EXPECT_EQ(shared_packing(weights, "a", [] { return ones(1); })->size(), 1);
}

}  // namespace
}  // namespace weft::shared_packing_test
