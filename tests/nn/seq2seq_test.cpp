#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/train_step.h"
#include "tests/support/values.h"

#include "weft/nn/model.h"
#include "weft/nn/nn.h"
#include "weft/ops/ops.h"

namespace weft::seq2seq_test {
namespace {

using test::near;

Value parameter(const nn::Module& module, const std::string& name) {
  return nn::find_parameter(module, name)->variable.tensor();
}

// A part of `layer` with its weights, as a layer of its own.
template <class L>
L part_of(const nn::Module& layer, const std::string& name, L part) {
  part.initialize(1);
  for (const auto& named : part.parameters()) {
    named.parameter->variable.set_tensor(
        parameter(layer, name + "." + named.name).tensor());
  }
  return part;
}

const Tensor kMask = Tensor::of<bool>({2, 1, 1, 3}, {true, true, false,  //
                                                     true, true, true});

TEST(TransformerDecoderLayer, LooksBackThenAtTheEncoded) {
  nn::TransformerDecoderLayer layer(8, 2, {.middle = 12});
  layer.initialize(3);
  const Value x = test::pattern({2, 5, 8});
  const Value encoded = test::pattern({2, 3, 8}, -1, 1, 2);
  const auto norm = [&](const char* name, const Value& rows) {
    return part_of(layer, name, nn::LayerNorm(8))(rows);
  };
  const Value told = x + part_of(layer, "attention",
                                 nn::MultiHeadAttention(
                                     8, 2, {.causal = true}))(norm("norm1", x));
  const Value read =
      told + part_of(layer, "cross", nn::MultiHeadAttention(8, 2))(
                 norm("norm2", told), encoded, kMask);
  const Value y =
      read + part_of(layer, "down", nn::Linear(12, 8))(gelu(
                 part_of(layer, "up", nn::Linear(8, 12))(norm("norm3", read))));
  EXPECT_TRUE(near(layer(x, encoded, kMask).tensor(), y.tensor(), 1e-5));
}

TEST(TransformerLayer, LooksWhereItsMaskSays) {
  nn::TransformerLayer layer(8, 2, {.norm_first = true, .middle = 12});
  layer.initialize(3);
  const Tensor x = test::pattern({1, 3, 8});
  const Tensor mask = Tensor::of<bool>({1, 1, 1, 3}, {true, true, false});
  // The third row is nothing to the first two.
  EXPECT_TRUE(near(slice_axis(layer(x, mask), 1, 0, 2).tensor(),
                   layer(slice_axis(Value(x), 1, 0, 2)).tensor(), 1e-5));
}

TEST(SinusoidalPositions, AreSinesBesideCosines) {
  const Tensor rows = nn::sinusoidal_positions(7, 6).tensor();
  for (int p = 0; p < 7; ++p) {
    for (int i = 0; i < 3; ++i) {
      const double angle = p / std::pow(10000.0, 2 * i / 6.0);
      EXPECT_NEAR(rows.item(p * 6 + i), std::sin(angle), 1e-6);
      EXPECT_NEAR(rows.item(p * 6 + 3 + i), std::cos(angle), 1e-6);
    }
  }
  EXPECT_THROW(nn::sinusoidal_positions(4, 3), Error);
}

struct Translating {
  std::string name;
  Options options;
};

class Seq2seqModel : public ::testing::TestWithParam<Translating> {
 protected:
  Seq2seqModel()
      : module_(build_model(model_registry().get(GetParam().name),
                            {.example = {6}, .classes = 7, .words = 9},
                            GetParam().options)),
        model_(dynamic_cast<nn::SequenceToSequence&>(*module_)) {
    module_->initialize(1);
    module_->train(false);
  }

  Tensor logits(const Tensor& source, const Tensor& told) {
    const Value is_word = not_equal(Value(source), scalar(0, DType::kI32));
    return model_
        .logits(model_.decode(model_.encode(source, is_word), is_word, told))
        .tensor();
  }

  std::unique_ptr<nn::Module> module_;
  nn::SequenceToSequence& model_;
};

TEST_P(Seq2seqModel, DependsOnNoPadding) {
  const Tensor told = Tensor::of<std::int32_t>({1, 2}, {1, 4});
  const Tensor padded = Tensor::of<std::int32_t>({1, 4}, {1, 4, 0, 0});
  const Tensor expected =
      logits(Tensor::of<std::int32_t>({1, 3}, {5, 8, 2}), told);
  const Tensor found =
      logits(Tensor::of<std::int32_t>({1, 5}, {5, 8, 2, 0, 0}), padded);
  EXPECT_TRUE(near(slice_axis(Value(found), 1, 0, 2).tensor(), expected, 1e-5));
}

TEST_P(Seq2seqModel, ReadsItsSource) {
  const Tensor told = Tensor::of<std::int32_t>({1, 2}, {1, 4});
  const Tensor a = logits(Tensor::of<std::int32_t>({1, 3}, {5, 8, 2}), told);
  const Tensor b = logits(Tensor::of<std::int32_t>({1, 3}, {8, 5, 2}), told);
  EXPECT_FALSE(near(a, b, 1e-5));
}

TEST_P(Seq2seqModel, SeesNoWordThatIsStillToCome) {
  const Tensor source = Tensor::of<std::int32_t>({1, 3}, {5, 8, 2});
  const Tensor a = logits(source, Tensor::of<std::int32_t>({1, 2}, {1, 4}));
  const Tensor b = logits(source, Tensor::of<std::int32_t>({1, 2}, {1, 5}));
  EXPECT_TRUE(identical(slice_axis(Value(a), 1, 0, 1).tensor(),
                        slice_axis(Value(b), 1, 0, 1).tensor()));
  EXPECT_FALSE(identical(a, b));
}

TEST_P(Seq2seqModel, LowersItsLoss) {
  module_->train(true);
  const Tensor source =
      Tensor::of<std::int32_t>({2, 4}, {5, 8, 4, 2, 3, 2, 0, 0});
  const Tensor target =
      Tensor::of<std::int32_t>({2, 4}, {1, 4, 5, 2, 1, 6, 2, 0});
  const auto optimizer = make_optimizer("adam", {});
  const auto task = make_task("sequence-to-sequence");
  // Any sizes are one graph.
  const StepDescription description(
      *module_, *task,
      {{"source", source.type(), {1}}, {"target", target.type(), {1}}}, {},
      optimizer.get());
  Step step(description, StepCut::kTrain);
  const std::vector<Tensor> batch = {source, target};
  step.run(batch, {.lr = 0.01});
  const double first = step.loss();
  for (int i = 1; i < 20; ++i) step.run(batch, {.lr = 0.01, .number = i});
  EXPECT_LT(step.loss(), 0.7 * first);
}

TEST_P(Seq2seqModel, RefusesOtherInputs) {
  const ModelDef& def = model_registry().get(GetParam().name);
  EXPECT_THROW(build_model(def, {.example = {6}, .classes = 7}, {}), Error);
  EXPECT_THROW(
      build_model(def, {.example = {6, 2}, .classes = 7, .words = 5}, {}),
      Error);
  EXPECT_THROW(build_model(def, {.example = {6}, .classes = 7, .words = 5},
                           {{"layers", std::int64_t{0}}}),
               Error);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, Seq2seqModel,
    ::testing::Values(Translating{"seq2seq",
                                  {{"layers", std::int64_t{2}},
                                   {"width", std::int64_t{8}},
                                   {"heads", std::int64_t{2}}}},
                      Translating{"gnmt",
                                  {{"layers", std::int64_t{3}},
                                   {"width", std::int64_t{8}},
                                   {"dropout", 0.0}}}),
    [](const auto& each) { return each.param.name; });

TEST(Gnmt, HasAsManyParametersAsVersion2) {
  constexpr std::int64_t kWords = 32320;
  const auto model =
      build_model(model_registry().get("gnmt"),
                  {.example = {50}, .classes = kWords, .words = kWords}, {});
  // 160,671,297 are those of the reference of MLPerf, which has one table for
  // both languages, and two biases in each of nine layers.
  EXPECT_EQ(model->parameter_count(), 160671297 + kWords * 1024 - 9 * 4 * 1024);
}

// The base model of table 3 of Vaswani et al. without its table of 37,000 words
// has 44 of its 63 million parameters.
TEST(Seq2seq, HasAsManyParametersAsTheBaseModel) {
  constexpr std::int64_t kWords = 37000;
  const auto model =
      build_model(model_registry().get("seq2seq"),
                  {.example = {50}, .classes = kWords, .words = kWords},
                  {{"layers", std::int64_t{6}},
                   {"width", std::int64_t{512}},
                   {"heads", std::int64_t{8}}});
  const std::int64_t attention = 4 * (512 * 512 + 512);
  const std::int64_t dense = 2 * 512 * 2048 + 2048 + 512;
  const std::int64_t norm = 2 * 512;
  EXPECT_EQ(model->parameter_count(),
            6 * (attention + dense + 2 * norm) +
                6 * (2 * attention + dense + 3 * norm) + 2 * norm +
                2 * kWords * 512);
}

}  // namespace
}  // namespace weft::seq2seq_test
