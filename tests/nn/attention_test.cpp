#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/graph/builder.h"
#include "weft/nn/nn.h"
#include "weft/nn/staging.h"
#include "weft/ops/ops.h"

namespace weft::attention_test {
namespace {

using test::near;

// Head by head, with the whole matrix of weights.
Value by_hand(const nn::Module& layer, const Value& x, const Value& context,
              std::int64_t heads, const Value& mask) {
  const auto dense = [&](const Value& rows, const std::string& name) {
    const auto of = [&](const char* what) {
      return Value(nn::find_parameter(layer, name + what)->variable.tensor());
    };
    return matmul(rows, of(".weight")) + of(".bias");
  };
  const std::int64_t width = x.shape()[2] / heads;
  std::vector<Value> found;
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto share = [&](const Value& rows) {
      return slice_axis(rows, 2, head * width, (head + 1) * width);
    };
    const Value query = share(dense(x, "query"));
    const Value key = share(dense(context, "key"));
    const Value scores = matmul(query, key, {false, true}) *
                         (1 / std::sqrt(static_cast<double>(width)));
    const Value seen = where(mask, scores, scalar(-1e30, DType::kF32));
    found.push_back(matmul(softmax(seen), share(dense(context, "value"))));
  }
  return dense(concat(found, 2), "out");
}

Value triangle(std::int64_t size) {
  return less_equal(iota(size), reshape(iota(size), {size, 1}));
}

TEST(MultiHeadAttention, EqualsItsEquations) {
  nn::MultiHeadAttention layer(6, 3);
  layer.initialize(5);
  const Value x = test::pattern({2, 4, 6});
  const Value all = full({DType::kBool, {4, 4}}, 1);
  EXPECT_TRUE(
      near(layer(x).tensor(), by_hand(layer, x, x, 3, all).tensor(), 1e-5));
}

TEST(MultiHeadAttention, LooksBackOnlyIfCausal) {
  nn::MultiHeadAttention layer(4, 2, {.causal = true});
  layer.initialize(5);
  const Value x = test::pattern({2, 5, 4});
  EXPECT_TRUE(near(layer(x).tensor(),
                   by_hand(layer, x, x, 2, triangle(5)).tensor(), 1e-5));
}

TEST(MultiHeadAttention, LooksAtAContextThroughAMask) {
  nn::MultiHeadAttention layer(4, 2);
  layer.initialize(5);
  const Value x = test::pattern({1, 3, 4});
  const Value context = test::pattern({1, 5, 4});
  const Value mask =
      Tensor::of<bool>({1, 1, 1, 5}, {true, false, true, true, false});
  EXPECT_TRUE(near(
      layer(x, context, mask).tensor(),
      by_hand(layer, x, context, 2, reshape(mask, {1, 1, 5})).tensor(), 1e-5));
}

TEST(MultiHeadAttention, HasFourDenseLayers) {
  nn::MultiHeadAttention layer(4, 2, {.bias = false});
  std::vector<std::string> names;
  for (const auto& [name, parameter] : layer.parameters()) {
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"query.weight", "key.weight",
                                             "value.weight", "out.weight"}));
}

TEST(MultiHeadAttention, RefusesHeadsThatDivideNothing) {
  EXPECT_THROW(nn::MultiHeadAttention(6, 4), Error);
}

}  // namespace
}  // namespace weft::attention_test
