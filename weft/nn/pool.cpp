#include "weft/nn/pool.h"

#include "weft/ops/pool.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"

namespace weft::nn {
namespace {

PoolOptions pool_options(std::int64_t window, const PoolLayerOptions& given) {
  PoolOptions options;
  options.window = {window, window};
  // Without strides, the op takes the window for them.
  if (given.stride > 0) options.strides = {given.stride, given.stride};
  const std::int64_t p = given.padding;
  options.padding = {p, p, p, p};
  return options;
}

}  // namespace

Value MaxPool2d::forward(const Value& x) {
  return max_pool(x, pool_options(window_, options_));
}

Value AvgPool2d::forward(const Value& x) {
  return avg_pool(x, pool_options(window_, options_));
}

Value GlobalAvgPool::forward(const Value& x) { return mean(x, {1, 2}); }

Value Flatten::forward(const Value& x) {
  // No node is made for a row, which is flat already.
  if (x.shape().rank() == 2) return x;
  return reshape(x,
                 {x.shape()[0], product(x.shape().last(x.shape().rank() - 1))});
}

}  // namespace weft::nn
