#include "weft/compiler/op_facts.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "weft/graph/registry.h"

namespace weft::op_facts_test {
namespace {

OpFacts facts(const char* name) { return facts_of(op_registry().get(name)); }

TEST(OpFacts, DTypesAreThoseThatInferenceTakes) {
  const std::vector floats{DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  EXPECT_EQ(facts("matmul").dtypes, floats);
  EXPECT_EQ(facts("where").dtypes.size(), 10u);
  // Its scale stays f32.
  EXPECT_EQ(facts("layer_norm").dtypes, floats);
  EXPECT_EQ(facts("bitwise_and").dtypes.front(), DType::kBool);
  EXPECT_EQ(facts("bitwise_and").dtypes.back(), DType::kI64);
}

TEST(OpFacts, OfWhatIsDrawnItIsTheResultThatCounts) {
  EXPECT_EQ(facts("uniform").dtypes.back(), DType::kF64);
  EXPECT_EQ(facts("bernoulli").dtypes, std::vector{DType::kBool});
  EXPECT_EQ(facts("permutation").dtypes, std::vector{DType::kI64});
}

TEST(OpFacts, SayWhatAnOpIsDoneBy) {
  const OpFacts add = facts("add");
  EXPECT_EQ(add.gradient, "rule");
  EXPECT_EQ(add.batching, "rule");
  EXPECT_EQ(add.kernels.front(), "loop");
  EXPECT_EQ(facts("argmax").gradient, "none flows");
  EXPECT_EQ(facts("while").gradient, "of its functions");
  EXPECT_EQ(facts("batch_norm").kernels, std::vector<std::string>{"lowered"});
}

TEST(OpFacts, AreOfAllOpsByName) {
  const std::vector<OpFacts> all = all_op_facts();
  EXPECT_EQ(all.size(), op_registry().all().size());
  EXPECT_TRUE(std::is_sorted(
      all.begin(), all.end(),
      [](const auto& a, const auto& b) { return a.name < b.name; }));
}

}  // namespace
}  // namespace weft::op_facts_test
