#include "weft/nn/transformer.h"

#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/nn/model.h"
#include "weft/nn/nn.h"
#include "weft/ops/ops.h"

namespace weft::transformer_test {
namespace {

using test::near;

Value parameter(const nn::Module& module, const std::string& name) {
  return nn::find_parameter(module, name)->variable.tensor();
}

// The rest of a layer whose attention is checked by itself: `attended` is what
// that attention made.
Value dense_by_hand(const nn::Module& layer, const Value& x) {
  const auto linear = [&](const Value& rows, const std::string& name) {
    return matmul(rows, parameter(layer, name + ".weight")) +
           parameter(layer, name + ".bias");
  };
  return linear(gelu(linear(x, "up")), "down");
}

Value norm_by_hand(const nn::Module& layer, const Value& x,
                   const std::string& name) {
  const Value centred = x - mean(x, {-1}, true);
  return centred / sqrt(mean(square(centred), {-1}, true) + 1e-5) *
             parameter(layer, name + ".weight") +
         parameter(layer, name + ".bias");
}

// Attention with the layer's own weights.
Value attention_by_hand(const nn::Module& layer, const Value& x, bool causal) {
  nn::MultiHeadAttention attention(8, 2, {.causal = causal});
  attention.initialize(1);
  for (const auto& named : attention.parameters()) {
    named.parameter->variable.set_tensor(
        parameter(layer, "attention." + named.name).tensor());
  }
  return attention(x);
}

TEST(TransformerLayer, NormalisesBehindItsShortcuts) {
  nn::TransformerLayer layer(8, 2);
  layer.initialize(3);
  const Value x = test::pattern({2, 5, 8});
  const Value y =
      norm_by_hand(layer, x + attention_by_hand(layer, x, false), "norm1");
  EXPECT_TRUE(
      near(layer(x).tensor(),
           norm_by_hand(layer, y + dense_by_hand(layer, y), "norm2").tensor(),
           1e-4));
}

TEST(TransformerLayer, NormalisesFirstIfAsked) {
  nn::TransformerLayer layer(8, 2, {.causal = true, .norm_first = true});
  layer.initialize(3);
  const Value x = test::pattern({2, 5, 8});
  const Value y =
      x + attention_by_hand(layer, norm_by_hand(layer, x, "norm1"), true);
  EXPECT_TRUE(
      near(layer(x).tensor(),
           (y + dense_by_hand(layer, norm_by_hand(layer, y, "norm2"))).tensor(),
           1e-4));
}

TEST(TokenEmbedding, AddsAVectorPerPosition) {
  nn::TokenEmbedding layer(6, 4, 3);
  layer.initialize(3);
  const Tensor tokens = Tensor::of<std::int32_t>({2, 2}, {5, 0, 1, 5});
  const Tensor y = layer(tokens).tensor();
  const Tensor words = parameter(layer, "words.weight").tensor();
  const Tensor positions = parameter(layer, "positions.weight").tensor();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FLOAT_EQ(y.data<float>()[9 + i], words.data<float>()[15 + i] +
                                                positions.data<float>()[3 + i]);
  }
  EXPECT_THROW(layer(Tensor::zeros({DType::kI32, {1, 5}})), Error);
}

TEST(Embedding, LogitsAreProductsWithTheWords) {
  nn::Embedding layer(6, 3);
  layer.initialize(3);
  const Value rows = test::pattern({2, 4, 3});
  EXPECT_TRUE(near(layer.logits(rows).tensor(),
                   matmul(rows, transpose(parameter(layer, "weight"))).tensor(),
                   1e-5));
}

std::unique_ptr<nn::Module> small(const char* name, const ModelInput& input) {
  auto model = build_model(model_registry().get(name), input,
                           {{"layers", std::int64_t{2}},
                            {"width", std::int64_t{8}},
                            {"heads", std::int64_t{2}}});
  model->initialize(1);
  return model;
}

TEST(Gpt, SeesNoTokenThatIsStillToCome) {
  const auto model = small("gpt", {.example = {4}, .classes = 10});
  const auto logits = [&](std::int32_t last) {
    return dynamic_cast<nn::Layer&>(*model)(
               Tensor::of<std::int32_t>({1, 4}, {1, 2, 3, last}))
        .tensor();
  };
  const Tensor a = logits(4);
  const Tensor b = logits(5);
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ(a.data<float>()[i], b.data<float>()[i]);
  EXPECT_NE(a.data<float>()[30], b.data<float>()[30]);
}

TEST(Bert, LooksAtNoPadding) {
  const auto logits = [](const Tensor& tokens) {
    const auto model = small(
        "bert", {.example = {tokens.shape()[1]}, .classes = 2, .words = 10});
    return dynamic_cast<nn::Layer&>(*model)(tokens).tensor();
  };
  // A text of its own length, and one beside longer ones.
  const Tensor whole = logits(Tensor::of<std::int32_t>({1, 3}, {1, 2, 3}));
  const Tensor padded = logits(Tensor::of<std::int32_t>(
      {3, 5}, {1, 2, 3, 0, 0, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0}));
  for (int i = 0; i < 2; ++i)
    EXPECT_NEAR(padded.data<float>()[i], whole.data<float>()[i], 1e-6);
  for (int i = 0; i < 6; ++i)
    EXPECT_TRUE(std::isfinite(padded.data<float>()[i]));
}

TEST(Bert, ItsFirstTokenSeesAll) {
  const auto model = small("bert", {.example = {4}, .classes = 2, .words = 10});
  const auto logit = [&](std::int32_t last) {
    return dynamic_cast<nn::Layer&>(*model)(
               Tensor::of<std::int32_t>({1, 4}, {1, 2, 3, last}))
        .tensor()
        .data<float>()[0];
  };
  EXPECT_NE(logit(4), logit(5));
  EXPECT_THROW(small("bert", {.example = {4}, .classes = 2}), Error);
}

}  // namespace
}  // namespace weft::transformer_test
