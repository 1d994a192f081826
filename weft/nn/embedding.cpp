#include "weft/nn/embedding.h"

#include "weft/nn/scope.h"
#include "weft/ops/index.h"
#include "weft/ops/matmul.h"
#include "weft/ops/shape.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {

Embedding::Embedding(std::int64_t words, std::int64_t width, Init init)
    : weight_(parameter("weight", {words, width}, init)) {}

Value Embedding::forward(const Value& x) {
  return embedding(value_of(weight_), x);
}

Value Embedding::logits(const Value& rows) const {
  // The table serves both ways, so that words have one vector (Press and Wolf,
  // "Using the output embedding to improve language models", 2017).
  const Value table = to_compute(value_of(weight_));
  Shape shape = rows.shape();
  const Shape outer(shape.first(shape.rank() - 1));
  // It is one large product instead of a batch of small ones.
  const Value flat =
      reshape(to_compute(rows), {dim_product(outer.dims()), shape.back()});
  shape[shape.rank() - 1] = table.shape()[0];
  return reshape(matmul(flat, table, {.transpose_b = true}), shape);
}

}  // namespace weft::nn
