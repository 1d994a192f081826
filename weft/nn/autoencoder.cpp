#include "weft/nn/autoencoder.h"

#include "weft/ops/unary.h"

namespace weft::nn {

Value Autoencoder::forward(const Value& x) {
  return sigmoid(decode(encode(x).mean));
}

}  // namespace weft::nn
