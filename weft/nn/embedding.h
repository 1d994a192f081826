// A table of vectors, one per word.
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

class Embedding : public Layer {
 public:
  // weight: f32[words, width]. Indices outside the table are clamped.
  Embedding(std::int64_t words, std::int64_t width,
            Init init = Init::normal(1));

 protected:
  // Integers of any shape to that shape × width.
  Value forward(const Value& x) override;

 private:
  ParameterRef weight_;
};

}  // namespace weft::nn
