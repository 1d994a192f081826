#include "weft/nn/linear.h"

#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/matmul.h"
#include "weft/ops/shape.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {

Linear::Linear(std::int64_t inputs, std::int64_t outputs, LinearOptions options)
    : weight_(parameter("weight", {inputs, outputs},
                        options.init.value_or(Init::fan_in(inputs)))) {
  if (options.bias) {
    bias_ = parameter("bias", {outputs},
                      options.init ? Init::constant(0) : Init::fan_in(inputs));
  }
}

Value Linear::forward(const Value& x) {
  const Value w = to_compute(value_of(weight_));
  const Shape outer(x.shape().first(x.shape().rank() - 1));
  Value rows = to_compute(x);
  // It is one large product instead of a batch of small ones.
  if (outer.rank() > 1) {
    rows = reshape(rows, {dim_product(outer.dims()), x.shape().back()});
  }
  Value y = matmul(rows, w);
  // The bias is an op of its own; fusion moves it into the product.
  if (bias_) y = y + to_compute(value_of(bias_));
  if (outer.rank() > 1) {
    Shape shape = outer;
    shape.push_back(w.shape()[1]);
    y = reshape(y, shape);
  }
  return y;
}

}  // namespace weft::nn
