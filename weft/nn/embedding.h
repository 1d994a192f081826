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

 protected:
  // Integers of any shape to that shape × width.
  Value forward(const Value& x) override;

 private:
  ParameterRef weight_;
};

}  // namespace weft::nn
