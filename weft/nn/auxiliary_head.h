// Classifiers that also tell the classes from their middle while they are
// trained, so that gradients reach what is far from the end (Szegedy et al.,
// "Going deeper with convolutions", 2014, section 5).
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// As a layer it gives the logits of its end.
class AuxiliaryHead : public Layer {
 public:
  struct Heads {
    Value logits;     // [N, classes]
    Value auxiliary;  // the same from the middle; undefined: none now
  };
  virtual Heads heads(const Value& x) = 0;

 protected:
  Value forward(const Value& x) override { return heads(x).logits; }
};

}  // namespace weft::nn
