// Attention of several heads (Vaswani et al., "Attention is all you need",
// 2017).
//
// Threads: as Module.
#pragma once

#include "weft/nn/linear.h"

namespace weft::nn {

struct MultiHeadAttentionOptions {
  // Position i looks at positions 0 to i alone.
  bool causal = false;
  bool bias = true;
};

// Dense layers make queries, keys and values of rows [batch, length, width];
// each head attends with its share of their width, and one more dense layer
// mixes what the heads found. These four are the children "query", "key",
// "value" and "out".
class MultiHeadAttention : public Layer {
 public:
  // Throws Error(kInvalidArgument) when the heads do not divide the width.
  MultiHeadAttention(std::int64_t width, std::int64_t heads,
                     MultiHeadAttentionOptions options = {});

  using Layer::operator();
  // The rows of x look at those of `context`. The mask, undefined for none, is
  // of bool, broadcasts to [batch, heads, length, context's length] and is true
  // where a row looks.
  Value operator()(const Value& x, const Value& context,
                   const Value& mask = Value());

 protected:
  Value forward(const Value& x) override;

 private:
  Value attend(const Value& x, const Value& context, const Value& mask);
  // [batch, length, width] as [batch, heads, length, width / heads].
  Value split_heads(const Value& x) const;

  std::int64_t heads_;
  bool causal_;
  Linear& query_;
  Linear& key_;
  Linear& value_;
  Linear& out_;
};

}  // namespace weft::nn
