// A layer of a Transformer's decoder (Vaswani et al., "Attention is all you
// need", 2017), which also looks at what an encoder has read.
//
// Threads: as Module.
#pragma once

#include "weft/nn/transformer.h"

namespace weft::nn {

struct TransformerDecoderLayerOptions {
  double dropout = 0;       // of what each part adds to its shortcut
  std::int64_t middle = 0;  // numbers between the dense layers; 0: 4 width
};

// Causal attention over [batch, length, width], attention of these rows to the
// encoder's, then two dense layers of each row with a GELU between them. Each
// part normalises what goes into it and stands beside a shortcut. The children
// with parameters are "attention", "norm1", "cross", "norm2", "up", "down" and
// "norm3".
class TransformerDecoderLayer : public Module {
 public:
  // Throws Error(kInvalidArgument) when the heads do not divide the width.
  TransformerDecoderLayer(std::int64_t width, std::int64_t heads,
                          TransformerDecoderLayerOptions options = {});

  // `encoded` is [batch, encoder's length, width]; the mask, as in
  // MultiHeadAttention, says which of its rows are looked at.
  Value operator()(const Value& x, const Value& encoded, const Value& mask);

 private:
  MultiHeadAttention& attention_;
  LayerNorm& norm1_;
  MultiHeadAttention& cross_;
  LayerNorm& norm2_;
  Linear& up_;
  Linear& down_;
  LayerNorm& norm3_;
  Dropout& dropout1_;
  Dropout& dropout2_;
  Dropout& dropout3_;
};

}  // namespace weft::nn
