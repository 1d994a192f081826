#include "weft/nn/embedding.h"

#include "weft/ops/index.h"

namespace weft::nn {

Embedding::Embedding(std::int64_t words, std::int64_t width, Init init)
    : weight_(parameter("weight", {words, width}, init)) {}

Value Embedding::forward(const Value& x) {
  return embedding(value_of(weight_), x);
}

}  // namespace weft::nn
