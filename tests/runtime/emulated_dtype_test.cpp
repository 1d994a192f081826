// Ops in a dtype that no kernel computes in.
#include <gtest/gtest.h>

#include "weft/compiler/pass.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/matmul.h"

namespace weft::emulated_dtype_test {
namespace {

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != text.npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(EmulatedDtype, IsF32BetweenCastsThatAreShared) {
  FunctionBuilder builder("products");
  const Value a = builder.parameter({DType::kF16, {8, 8}}, "a");
  const Value b = builder.parameter({DType::kF16, {8, 8}}, "b");
  const Function function = builder.build([&] {
    return std::vector{matmul(a, b), matmul(b, a)};
  });
  const std::string text = to_string(run_passes(function));
  EXPECT_EQ(count(text, "matmul("), 2) << text;
  EXPECT_EQ(count(text, "cast("), 4) << text;  // two in, two out
  EXPECT_EQ(count(text, "{dtype = f32}"), 2) << text;
}

}  // namespace
}  // namespace weft::emulated_dtype_test
