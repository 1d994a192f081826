// Dropout: while training, zeroes elements with probability `rate` and scales
// the rest by 1/(1 - rate) (Srivastava et al., 2014).
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// Draws from the current RandomKeyScope, on the stream that belongs to the
// layer's place in the model: a layer that is called twice in one step drops
// the same elements both times.
class Dropout : public Layer {
 public:
  // Throws Error(kInvalidArgument) unless 0 <= rate < 1.
  explicit Dropout(double rate);

 protected:
  Value forward(const Value& x) override;

 private:
  double rate_;
};

}  // namespace weft::nn
