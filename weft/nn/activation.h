// The elementwise functions that models use, under the name they have in
// models: nn::Sequential{nn::Linear{4, 8}, nn::relu}.
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"
#include "weft/ops/unary.h"

namespace weft::nn {

using weft::gelu;
using weft::relu;
using weft::sigmoid;
using weft::tanh;

class Relu : public Layer {
 protected:
  Value forward(const Value& x) override { return relu(x); }
};

}  // namespace weft::nn
