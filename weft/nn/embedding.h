// A table of vectors, one per word.
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

class Embedding : public Layer {
 public:
  // weight: f32[words, width]. Indices are as in ops/index.h: negative ones
  // count from the end, and one outside of the table is an IndexError.
  Embedding(std::int64_t words, std::int64_t width,
            Init init = Init::normal(1));

  // How well rows [..., width] fit each word, [..., words]: their products with
  // the words' vectors, for a model whose last layer shares the table of its
  // first (Press and Wolf, "Using the output embedding to improve language
  // models", 2017).
  Value logits(const Value& rows) const;

 protected:
  // Integers of any shape to that shape × width.
  Value forward(const Value& x) override;

 private:
  ParameterRef weight_;
};

}  // namespace weft::nn
