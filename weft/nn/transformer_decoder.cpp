#include "weft/nn/transformer_decoder.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"

namespace weft::nn {

TransformerDecoderLayer::TransformerDecoderLayer(
    std::int64_t width, std::int64_t heads,
    TransformerDecoderLayerOptions options)
    : attention_(child("attention",
                       MultiHeadAttention{width, heads, {.causal = true}})),
      norm1_(child("norm1", LayerNorm{width})),
      cross_(child("cross", MultiHeadAttention{width, heads})),
      norm2_(child("norm2", LayerNorm{width})),
      up_(child("up",
                Linear{width, transformer_middle(width, options.middle)})),
      down_(child("down",
                  Linear{transformer_middle(width, options.middle), width})),
      norm3_(child("norm3", LayerNorm{width})),
      dropout1_(child("dropout1", Dropout{options.dropout})),
      dropout2_(child("dropout2", Dropout{options.dropout})),
      dropout3_(child("dropout3", Dropout{options.dropout})) {}

Value TransformerDecoderLayer::operator()(const Value& x, const Value& encoded,
                                          const Value& mask) {
  const LayerScope scope(name());
  // Each half is normalised before and added to what went in, as in
  // TransformerLayer with norm_first.
  const Value told = x + dropout1_(attention_(norm1_(x)));
  const Value read = told + dropout2_(cross_(norm2_(told), encoded, mask));
  return read + dropout3_(down_(gelu(up_(norm3_(read)))));
}

}  // namespace weft::nn
