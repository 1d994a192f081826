#include <cmath>
#include <gtest/gtest.h>

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

class Seq2seqModel : public ::testing::Test {
 protected:
  Seq2seqModel()
      : module_(build_model(model_registry().get("seq2seq"),
                            {.example = {6}, .classes = 7, .words = 9},
                            {{"layers", std::int64_t{2}},
                             {"width", std::int64_t{8}},
                             {"heads", std::int64_t{2}}})),
        model_(dynamic_cast<nn::SequenceToSequence&>(*module_)) {
    module_->initialize(1);
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

TEST_F(Seq2seqModel, DependsOnNoPadding) {
  const Tensor told = Tensor::of<std::int32_t>({1, 2}, {1, 4});
  const Tensor padded = Tensor::of<std::int32_t>({1, 4}, {1, 4, 0, 0});
  const Tensor expected =
      logits(Tensor::of<std::int32_t>({1, 3}, {5, 8, 2}), told);
  const Tensor found =
      logits(Tensor::of<std::int32_t>({1, 5}, {5, 8, 2, 0, 0}), padded);
  EXPECT_TRUE(near(slice_axis(Value(found), 1, 0, 2).tensor(), expected, 1e-5));
}

TEST_F(Seq2seqModel, SeesNoWordThatIsStillToCome) {
  const Tensor source = Tensor::of<std::int32_t>({1, 3}, {5, 8, 2});
  const Tensor a = logits(source, Tensor::of<std::int32_t>({1, 2}, {1, 4}));
  const Tensor b = logits(source, Tensor::of<std::int32_t>({1, 2}, {1, 5}));
  EXPECT_TRUE(identical(slice_axis(Value(a), 1, 0, 1).tensor(),
                        slice_axis(Value(b), 1, 0, 1).tensor()));
  EXPECT_FALSE(identical(a, b));
}

TEST_F(Seq2seqModel, RefusesOtherInputs) {
  const ModelDef& def = model_registry().get("seq2seq");
  EXPECT_THROW(build_model(def, {.example = {6}, .classes = 7}, {}), Error);
  EXPECT_THROW(
      build_model(def, {.example = {6, 2}, .classes = 7, .words = 5}, {}),
      Error);
  EXPECT_THROW(build_model(def, {.example = {6}, .classes = 7, .words = 5},
                           {{"layers", std::int64_t{0}}}),
               Error);
}

}  // namespace
}  // namespace weft::seq2seq_test
