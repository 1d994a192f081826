#include "weft/nn/attention.h"

#include "weft/base/error.h"
#include "weft/ops/attention.h"
#include "weft/ops/shape.h"

namespace weft::nn {

MultiHeadAttention::MultiHeadAttention(std::int64_t width, std::int64_t heads,
                                       MultiHeadAttentionOptions options)
    : heads_(heads),
      causal_(options.causal),
      query_(child("query", Linear(width, width, {.bias = options.bias}))),
      key_(child("key", Linear(width, width, {.bias = options.bias}))),
      value_(child("value", Linear(width, width, {.bias = options.bias}))),
      out_(child("out", Linear(width, width, {.bias = options.bias}))) {
  // Each head sees an equal part of the width.
  if (heads < 1 || width % heads != 0) {
    throw Error(ErrorCode::kInvalidArgument, "multi_head_attention",
                "{} heads do not divide a width of {}", heads, width);
  }
}

Value MultiHeadAttention::operator()(const Value& x, const Value& context,
                                     const Value& mask) {
  const LayerScope scope(name());
  return attend(x, context, mask);
}

Value MultiHeadAttention::forward(const Value& x) {
  return attend(x, x, Value());
}

Value MultiHeadAttention::attend(const Value& x, const Value& context,
                                 const Value& mask) {
  if (x.shape().rank() != 3 || context.shape().rank() != 3) {
    throw Error(ErrorCode::kInvalidArgument, "multi_head_attention",
                "takes [batch, length, width], not {} and {}",
                to_string(x.shape()), to_string(context.shape()));
  }
  const Value query = split_heads(query_(x));
  const Value key = split_heads(key_(context));
  const Value value = split_heads(value_(context));
  const AttentionOptions options{.causal = causal_};
  const Value y = mask.is_defined()
                      ? attention(query, key, value, mask, options)
                      : attention(query, key, value, options);
  // The heads come side by side again, as split_heads() found them.
  return out_(reshape(transpose(y, {0, 2, 1, 3}), x.shape()));
}

Value MultiHeadAttention::split_heads(const Value& x) const {
  const Shape& shape = x.shape();
  const Value parts =
      reshape(x, {shape[0], shape[1], heads_, shape[2] / heads_});
  // Heads become a leading axis, under which attention is one op for all.
  return transpose(parts, {0, 2, 1, 3});
}

}  // namespace weft::nn
