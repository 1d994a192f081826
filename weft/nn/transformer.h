// A layer of a Transformer (Vaswani et al., "Attention is all you need", 2017).
//
// Threads: as Module.
#pragma once

#include "weft/nn/attention.h"
#include "weft/nn/dropout.h"
#include "weft/nn/embedding.h"
#include "weft/nn/norm.h"
#include "weft/nn/sequential.h"

namespace weft::nn {

struct TransformerLayerOptions {
  // Position i looks at positions 0 to i alone.
  bool causal = false;
  // Normalises what goes into each half rather than what comes out with its
  // shortcut (Radford et al., "Language models are unsupervised multitask
  // learners", 2019): deep stacks then train without a warm-up.
  bool norm_first = false;
  double dropout = 0;       // of what each half adds to its shortcut
  std::int64_t middle = 0;  // numbers between the dense layers; 0: 4 width
};

// How many numbers stand between the dense layers of a layer.
std::int64_t transformer_middle(std::int64_t width, std::int64_t given);

// Attention over [batch, length, width], then two dense layers of each row with
// a GELU between them. Each half stands beside a shortcut. The children with
// parameters are "attention", "norm1", "up", "down" and "norm2".
class TransformerLayer : public Layer {
 public:
  // Throws Error(kInvalidArgument) when the heads do not divide the width.
  TransformerLayer(std::int64_t width, std::int64_t heads,
                   TransformerLayerOptions options = {});

  using Layer::operator();
  // The mask, undefined for none, is as in MultiHeadAttention: it keeps rows
  // from looking at padding, say.
  Value operator()(const Value& x, const Value& mask);

 protected:
  Value forward(const Value& x) override;

 private:
  Value transform(const Value& x, const Value& mask);
  Value dense(const Value& x);

  bool norm_first_;
  MultiHeadAttention& attention_;
  LayerNorm& norm1_;
  Linear& up_;
  Linear& down_;
  LayerNorm& norm2_;
  Dropout& dropout1_;
  Dropout& dropout2_;
};

// `count` of them, one behind the other; the children are "0", "1", ….
Sequential transformer_layers(std::int64_t count, std::int64_t width,
                              std::int64_t heads,
                              TransformerLayerOptions options = {});

// What the tokens of a text begin with: the sum of a vector per word and one
// per position, both learnt, [batch, length] to [batch, length, width]. The
// children are "words" and "positions".
class TokenEmbedding : public Layer {
 public:
  TokenEmbedding(std::int64_t words, std::int64_t positions,
                 std::int64_t width);

  const Embedding& words() const { return words_; }

 protected:
  // Throws Error(kInvalidArgument) for a text with more tokens than positions.
  Value forward(const Value& tokens) override;

 private:
  std::int64_t most_;
  Embedding& words_;
  Embedding& positions_;
};

}  // namespace weft::nn
