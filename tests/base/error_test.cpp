// The nearest of some names is what was meant, where something near was.
#include "weft/base/error.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Nearest, IsByFewestMistakes) {
  // Two letters in each other's place are one mistake, as are one too many, one
  // too few and a wrong one.
  EXPECT_EQ(nearest("rleu", {"lu", "relu"}), "relu");
  EXPECT_EQ(nearest("matmull", {"mat", "matmul", "maximum"}), "matmul");
  EXPECT_EQ(nearest("epoch", {"epochs", "each"}), "epochs");
  EXPECT_EQ(nearest("bztch", {"batch", "branch"}), "batch");
  EXPECT_EQ(nearest("", {"a", "abc"}), "a");
}

TEST(Nearest, IsNothingWhereNothingIsNear) {
  EXPECT_EQ(nearest("relu", {"softmax", "matmul"}), "");
  EXPECT_EQ(nearest("relu", {}), "");
}

}  // namespace
}  // namespace weft
