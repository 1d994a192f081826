// Which candidate is chosen, and what is said of the others.
#include <stdexcept>

#include "tests/support/against_reference.h"

namespace weft::choice_test {
namespace {

std::unique_ptr<PreparedKernel> fail(const OpCall&) {
  throw std::runtime_error("could not create a primitive");
}

TEST(KernelChoice, OneThatCannotBePreparedDeclines) {
  const Call call("square", {{{{DType::kF32, {3}}}}, {}});
  KernelRegistry kernels;
  kernels.add({.op = "square",
               .name = "second",
               .rank = 5,
               .prepare = candidate("square", "simd:loop").prepare});
  kernels.add({.op = "square", .name = "first", .rank = 9, .prepare = fail});
  kernels.freeze();
  const KernelChoice choice = choose_kernel(call.get(), kernels);
  EXPECT_EQ(choice.name, "second");
  ASSERT_EQ(choice.declined.size(), 1u);
  EXPECT_EQ(choice.declined[0], "first: could not create a primitive");
}

TEST(KernelChoice, FallsBackToTheReference) {
  const Call call("square", {{{{DType::kF32, {3}}}}, {}});
  KernelRegistry kernels;
  kernels.add({.op = "square", .name = "only", .rank = 9, .prepare = fail});
  kernels.freeze();
  EXPECT_EQ(choose_kernel(call.get(), kernels).name, "reference");
}

TEST(KernelChoice, SaysWhichImplementationOnednnChose) {
  const Call call("conv2d", {{{{DType::kF32, {8, 16, 16, 16}}},
                              {{DType::kF32, {3, 3, 16, 16}}}},
                             {}});
  const std::string text = choose_kernel(call.get()).description();
  EXPECT_TRUE(text.starts_with("onednn:convolution (")) << text;
  EXPECT_EQ(text.find("ref"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::choice_test
