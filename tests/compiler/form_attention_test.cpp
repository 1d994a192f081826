// Attention that others write as products and a softmax, with masks and
// transpositions around it: what a plan makes of it, and that it computes the
// same.
#include "weft/compiler/form_attention.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::form_attention_test {
namespace {

// More queries and keys than a tile has, and parts of vectors.
constexpr Dim kBatch = 2, kHeads = 3, kLength = 70, kWidth = 5;
constexpr Dim kAll = kHeads * kWidth;

using Values = std::vector<Value>;

class Attention {
 public:
  Attention(const std::vector<TensorType>& types,
            const std::function<Value(const Values&)>& body) {
    FunctionBuilder builder("f");
    Values parameters;
    for (const TensorType& type : types) {
      arguments_.push_back(testing::random_tensor(
          {.type = type, .low = -1, .high = 1}, arguments_.size() + 1));
      parameters.push_back(builder.parameter(type));
    }
    function_ = builder.build([&] { return Values{body(parameters)}; });
  }

  // The ops of the plan's steps, once it was seen to compute what the ops do
  // one by one.
  std::vector<std::string> steps() const {
    Executable plain(function_, {.fuse = false, .without = {"form_attention"}});
    Executable served(function_);
    const Tensor expected = plain.run(arguments_)[0];
    testing::expect_close(served.run(arguments_)[0], expected, 64);
    std::vector<std::string> names;
    for (const StepInfo& step : served.plan_for(arguments_).steps()) {
      if (!step.kernel.empty()) names.push_back(step.name);
    }
    return names;
  }
  const Function& function() const { return function_; }
  std::vector<Tensor>& arguments() { return arguments_; }

 private:
  Function function_;
  std::vector<Tensor> arguments_;
};

const TensorType kRows{DType::kF32, {kBatch, kLength, kAll}};

Value heads_of(const Value& x) {
  return transpose(reshape(x, {x.shape()[0], x.shape()[1], kHeads, kWidth}),
                   {0, 2, 1, 3});
}
Value together(const Value& y) {
  return reshape(transpose(y, {0, 2, 1, 3}),
                 {y.shape()[0], y.shape()[2], kAll});
}

bool has(const std::vector<std::string>& steps, const std::string& name) {
  return std::ranges::find(steps, name) != steps.end();
}
const std::vector<std::string> kOne = {"multi_head_attention"};

// BERT's: heads of three products, a scale behind them, a mask of the keys.
TEST(FormAttention, FindsScoresThatAreDividedAndMasked) {
  const Attention bert(
      {kRows, kRows, kRows, {DType::kF32, {kBatch, 1, 1, kLength}}},
      [](const Values& v) {
        const Value keys = transpose(heads_of(v[1]), {0, 1, 3, 2});
        const Value scores = matmul(heads_of(v[0]), keys) / std::sqrt(5.0);
        return together(matmul(softmax(scores + v[3]), heads_of(v[2])));
      });
  EXPECT_EQ(bert.steps(), kOne);
}

// PyTorch's: the length first, one product, heads and batches on one axis, half
// of the scale on either side.
TEST(FormAttention, FindsHeadsOfOneProductWithTheLengthFirst) {
  const Attention torch(
      {{DType::kF32, {kLength, kBatch, 3 * kAll}}}, [](const Values& v) {
        const Value parts = reshape(v[0], {1, kLength, kBatch, 3, kAll});
        const Value apart = reshape(transpose(parts, {3, 1, 2, 0, 4}),
                                    {3, kLength, kBatch, kAll});
        const auto part = [&](std::int64_t i) {
          const Value rows =
              gather(apart, Value(Tensor::of<std::int64_t>({}, {i})));
          const Value heads = transpose(
              reshape(rows, {kLength, kBatch * kHeads, kWidth}), {1, 0, 2});
          return reshape(heads, {kBatch, kHeads, kLength, kWidth});
        };
        const Value scores =
            matmul(part(0) * 0.6, transpose(part(1), {0, 1, 3, 2}) * 0.6);
        const Value y = matmul(softmax(scores), part(2));
        return reshape(transpose(y, {2, 0, 1, 3}), {kLength, kBatch, kAll});
      });
  EXPECT_EQ(torch.steps(), kOne);
}

// GPT's: later keys are replaced, and a mask is added.
TEST(FormAttention, FindsScoresThatAreReplaced) {
  for (const bool if_true : {false, true}) {
    const Attention gpt(
        {kRows, {DType::kF32, {kLength}}}, [&](const Values& v) {
          const Value order = reshape(iota(kLength), {kLength, 1});
          const Value seen = if_true ? less(order, iota(kLength))
                                     : less_equal(iota(kLength), order);
          const Value x = heads_of(v[0]);
          const Value scores = matmul(x, x, {.transpose_b = true}) * 0.5;
          const Value hidden = full({DType::kF32, {}}, -INFINITY);
          const Value masked = if_true ? where(seen, hidden, scores)
                                       : where(seen, scores, hidden);
          return together(matmul(softmax(masked + v[1]), x));
        });
    const auto steps = gpt.steps();
    EXPECT_TRUE(has(steps, "multi_head_attention"));
    EXPECT_FALSE(has(steps, "softmax"));
    EXPECT_FALSE(has(steps, "transpose"));
  }
}

// Whether the one op that is formed has the flag of a decoder, and no mask.
bool is_causal(const Attention& attention) {
  const Function formed = form_attention(attention.function());
  for (const Node& node : formed.nodes()) {
    if (node.op->name() != "multi_head_attention") continue;
    return node.attributes.flag("causal") && node.inputs.size() == 3;
  }
  return false;
}

using Mask = std::function<Value(const Value& key, const Value& query)>;

// Scores of one operand with itself, of which `mask` hides some.
Attention masked(const std::function<Value(const Value&, const Value&)>& hide,
                 const Mask& mask) {
  return Attention({kRows}, [&](const Values& v) {
    const Value order = reshape(iota(kLength), {1, 1, kLength, 1});
    const Value x = heads_of(v[0]);
    const Value scores = matmul(x, x, {.transpose_b = true}) * 0.5;
    const Value seen = mask(iota(kLength), order);
    return together(matmul(softmax(hide(scores, seen)), x));
  });
}

TEST(FormAttention, FindsThatLaterKeysAreHidden) {
  const auto seen_stays = [&](const Value& scores, const Value& seen) {
    return where(seen, scores, full({DType::kF32, {}}, -INFINITY));
  };
  const auto later_goes = [&](const Value& scores, const Value& later) {
    return where(later, full({DType::kF32, {}}, -1e38), scores);
  };
  const auto is_added = [&](const Value& scores, const Value& seen) {
    return scores + where(seen, full({DType::kF32, {}}, 0),
                          full({DType::kF32, {}}, -INFINITY));
  };
  const Mask up_to = [](const Value& key, const Value& query) {
    return reshape(less_equal(key, query), {1, 1, kLength, kLength});
  };
  const Mask turned = [](const Value& key, const Value& query) {
    return greater_equal(query, key);
  };
  const Mask later = [](const Value& key, const Value& query) {
    return logical_not(less_equal(key, query));
  };
  for (const Attention& each :
       {masked(seen_stays, up_to), masked(seen_stays, turned),
        masked(later_goes, later), masked(is_added, up_to)}) {
    EXPECT_EQ(each.steps(), kOne);
    EXPECT_TRUE(is_causal(each));
  }
}

TEST(FormAttention, LeavesOtherMasksAsTheyAre) {
  const auto stays = [&](const Value& scores, const Value& seen) {
    return where(seen, scores, full({DType::kF32, {}}, -1e38));
  };
  const auto goes = [&](const Value& scores, const Value& seen) {
    return where(seen, full({DType::kF32, {}}, -1e38), scores);
  };
  // The query's own place is hidden, or earlier keys are, or one more is seen.
  const Mask earlier = [](const Value& key, const Value& query) {
    return less(key, query);
  };
  const Mask up_to = [](const Value& key, const Value& query) {
    return less_equal(key, query);
  };
  const Mask one_more = [](const Value& key, const Value& query) {
    return less_equal(key, query + scalar(1, DType::kI64));
  };
  // Places in bf16 are rounded: beyond 256 some are equal.
  const Mask rounded = [](const Value& key, const Value& query) {
    return less_equal(cast(key, DType::kBF16), cast(query, DType::kBF16));
  };
  for (const Attention& each :
       {masked(stays, earlier), masked(goes, up_to), masked(stays, one_more),
        masked(stays, rounded)}) {
    each.steps();
    EXPECT_FALSE(is_causal(each));
  }
}

// Batches and heads on one axis, as products of three axes have them.
TEST(FormAttention, FindsHeadsOnTheAxisOfBatches) {
  const Attention flat({kRows, kRows, kRows}, [](const Values& v) {
    const auto merged = [](const Value& x) {
      return reshape(heads_of(x), {kBatch * kHeads, kLength, kWidth});
    };
    const Value scores =
        matmul(merged(v[0]), merged(v[1]), {.transpose_b = true});
    const Value y = matmul(softmax(scores * 0.5), merged(v[2]));
    return together(reshape(y, {kBatch, kHeads, kLength, kWidth}));
  });
  EXPECT_EQ(flat.steps(), kOne);
}

// A step of inference of our own layers, causal and with a mask of bool.
TEST(FormAttention, TakesTheOpWithItsTranspositions) {
  const Attention own(
      {kRows, {DType::kBool, {kBatch, 1, 1, kLength}}}, [](const Values& v) {
        const Value x = heads_of(v[0]);
        return together(attention(x, x, x, v[1], {.causal = true}));
      });
  EXPECT_EQ(own.steps(), kOne);
}

// All keys of a query are hidden: the softmax of nothing is NaN, also then.
TEST(FormAttention, KeepsTheNaNOfAQueryThatSeesNothing) {
  Attention none({kRows, {DType::kF32, {kLength, 1}}}, [](const Values& v) {
    const Value x = heads_of(v[0]);
    const Value scores = matmul(x, x, {.transpose_b = true});
    return together(matmul(softmax(scores + v[1]), x));
  });
  none.arguments()[1] = Tensor::zeros({DType::kF32, {kLength, 1}});
  none.arguments()[1].data<float>()[1] = -INFINITY;
  Executable served(none.function());
  const Tensor y = served.run(none.arguments())[0];
  EXPECT_FALSE(std::isnan(y.item(0)));
  EXPECT_TRUE(std::isnan(y.item(kAll)));
}

TEST(FormAttention, LeavesAloneWhatAGradientReads) {
  const Attention plain({kRows}, [](const Values& v) {
    const Value x = heads_of(v[0]);
    const Value scores = matmul(x, x, {.transpose_b = true});
    return sum(matmul(softmax(scores), x) * 0.01);
  });
  const Function trained =
      differentiate(plain.function(), std::vector<std::size_t>{0});
  const Function formed = form_attention(trained);
  EXPECT_TRUE(std::ranges::none_of(formed.nodes(), [](const Node& node) {
    return node.op->name() == "multi_head_attention";
  }));
}

// Scores that are scaled behind the mask would need a scaled mask.
TEST(FormAttention, LeavesAloneMasksBelowAScale) {
  const Attention odd({kRows, {DType::kF32, {kLength}}}, [](const Values& v) {
    const Value x = heads_of(v[0]);
    const Value scores = matmul(x, x, {.transpose_b = true});
    return together(matmul(softmax((scores + v[1]) * 0.5), x));
  });
  EXPECT_TRUE(has(odd.steps(), "softmax"));
}

// A sum of many terms before a softmax is looked through once.
TEST(FormAttention, TakesTimeLinearInASum) {
  const Attention deep({kRows}, [](const Values& v) {
    const Value x = heads_of(v[0]);
    Value scores = tanh(matmul(x, x, {.transpose_b = true}));
    for (int i = 0; i < 200; ++i) {
      const Value more = full(scores.type(), 0.01 * i);
      scores = i % 2 == 0 ? scores + more : more + scores;
    }
    return together(matmul(softmax(scores), x));
  });
  form_attention(deep.function());
}

}  // namespace
}  // namespace weft::form_attention_test
