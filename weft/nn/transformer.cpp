#include "weft/nn/transformer.h"

#include "weft/base/error.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {
namespace {

// GPT and BERT start their tables so, too.
const Init kTokens = Init::normal(0.02);

}  // namespace

std::int64_t transformer_middle(std::int64_t width, std::int64_t given) {
  // Vaswani et al. use four times the width between the dense layers.
  return given > 0 ? given : 4 * width;
}

TransformerLayer::TransformerLayer(std::int64_t width, std::int64_t heads,
                                   TransformerLayerOptions options)
    : norm_first_(options.norm_first),
      attention_(
          child("attention",
                MultiHeadAttention{width, heads, {.causal = options.causal}})),
      norm1_(child("norm1", LayerNorm{width})),
      up_(child("up",
                Linear{width, transformer_middle(width, options.middle)})),
      down_(child("down",
                  Linear{transformer_middle(width, options.middle), width})),
      norm2_(child("norm2", LayerNorm{width})),
      dropout1_(child("dropout1", Dropout{options.dropout})),
      dropout2_(child("dropout2", Dropout{options.dropout})) {}

Value TransformerLayer::operator()(const Value& x, const Value& mask) {
  const LayerScope scope(name());
  return transform(x, mask);
}

Value TransformerLayer::forward(const Value& x) {
  return transform(x, Value());
}

Value TransformerLayer::transform(const Value& x, const Value& mask) {
  const auto attend = [&](const Value& rows) {
    return dropout1_(attention_(rows, rows, mask));
  };
  // With the norms inside, shortcuts lead from end to end unchanged, and the
  // network trains without a warm-up (Xiong et al., "On layer normalization in
  // the Transformer architecture", 2020). Behind them is where the first
  // Transformer had them.
  if (norm_first_) {
    const Value y = x + attend(norm1_(x));
    return y + dropout2_(dense(norm2_(y)));
  }
  const Value y = norm1_(x + attend(x));
  return norm2_(y + dropout2_(dense(y)));
}

Value TransformerLayer::dense(const Value& x) { return down_(gelu(up_(x))); }

Sequential transformer_layers(std::int64_t count, std::int64_t width,
                              std::int64_t heads,
                              TransformerLayerOptions options) {
  Sequential layers;
  for (std::int64_t i = 0; i < count; ++i) {
    layers.add(TransformerLayer{width, heads, options});
  }
  return layers;
}

TokenEmbedding::TokenEmbedding(std::int64_t words, std::int64_t positions,
                               std::int64_t width)
    : most_(positions),
      words_(child("words", Embedding{words, width, kTokens})),
      positions_(child("positions", Embedding{positions, width, kTokens})) {}

Value TokenEmbedding::forward(const Value& tokens) {
  const Shape& shape = tokens.shape();
  // A symbolic length is checked by nobody here: what the data pads to is known
  // when the model is built.
  if (shape.rank() != 2 || (!is_symbolic(shape[1]) && shape[1] > most_)) {
    throw Error(ErrorCode::kInvalidArgument, "token_embedding",
                "takes [batch, length] of at most {} tokens, not {}", most_,
                to_string(shape));
  }
  return words_(tokens) + positions_(iota(shape[1]));
}

}  // namespace weft::nn
