#include "weft/nn/pool.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/ops/matmul.h"
#include "weft/ops/pool.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {
namespace {

void require_known_image(std::string_view layer, const Value& x) {
  const Shape& shape = x.shape();
  if (shape.rank() == 4 && !is_symbolic(shape[1]) && !is_symbolic(shape[2]))
    return;
  throw Error(ErrorCode::kInvalidArgument, layer,
              "takes [batch, rows, columns, channels] of known rows and "
              "columns, not {}",
              to_string(shape));
}

// The padding behind an axis for as many windows as begin within it.
std::int64_t padding_behind(std::int64_t size, std::int64_t window,
                            std::int64_t stride, std::int64_t padding) {
  const std::int64_t room = size + 2 * padding - window;
  // The op tells that no window fits, not even one that hangs over.
  if (room <= -stride) return padding;
  std::int64_t last = (room + stride - 1) / stride * stride;
  // A window behind the end would see nothing.
  if (last >= size + padding) last -= stride;
  return std::max(padding, last + window - size - padding);
}

PoolOptions pool_options(const Value& x, std::int64_t window,
                         const PoolLayerOptions& given) {
  const std::int64_t stride = given.stride > 0 ? given.stride : window;
  const std::int64_t p = given.padding;
  PoolOptions options{.window = {window, window},
                      .strides = {stride, stride},
                      .padding = {p, p, p, p}};
  if (given.ceil) {
    require_known_image("pool", x);
    options.padding[1] = padding_behind(x.shape()[1], window, stride, p);
    options.padding[3] = padding_behind(x.shape()[2], window, stride, p);
  }
  return options;
}

// Row i has the weights of the pixels that mean i is over, [means, size].
Tensor shares(std::int64_t means, std::int64_t size) {
  const Tensor result = Tensor::zeros({DType::kF32, {means, size}});
  for (std::int64_t i = 0; i < means; ++i) {
    const std::int64_t begin = i * size / means;
    const std::int64_t end = ((i + 1) * size + means - 1) / means;
    std::fill_n(result.data<float>() + i * size + begin, end - begin,
                1 / static_cast<float>(end - begin));
  }
  return result;
}

// [N, size, …] to [N, means, …].
Value share_out(const Value& x, std::int64_t means) {
  const Shape& shape = x.shape();
  const Value columns =
      reshape(x, {shape[0], shape[1], product(shape.last(shape.rank() - 2))});
  const Value made =
      matmul(to_dtype(shares(means, shape[1]), x.dtype()), columns);
  Shape result = shape;
  result[1] = means;
  return reshape(made, result);
}

}  // namespace

Value MaxPool2d::forward(const Value& x) {
  return max_pool(x, pool_options(x, window_, options_));
}

AvgPool2d::AvgPool2d(std::int64_t window, PoolLayerOptions options,
                     bool counts_padding)
    : window_(window), options_(options), counts_padding_(counts_padding) {
  if (!counts_padding || !options.ceil) return;
  throw Error(ErrorCode::kInvalidArgument, "avg_pool",
              "windows that hang over the end would count zeros which are no "
              "padding")
      .hint("leave out ceil or counts_padding");
}

Value AvgPool2d::forward(const Value& x) {
  return avg_pool(x, pool_options(x, window_, options_), counts_padding_);
}

AdaptiveAvgPool2d::AdaptiveAvgPool2d(std::int64_t size) : size_(size) {
  if (size >= 1) return;
  throw Error(ErrorCode::kInvalidArgument, "adaptive_avg_pool",
              "{} windows of a side are none", size);
}

Value AdaptiveAvgPool2d::forward(const Value& x) {
  require_known_image("adaptive_avg_pool", x);
  const Shape shape = x.shape();
  if (shape[1] == size_ && shape[2] == size_) return x;
  if (shape[1] % size_ == 0 && shape[2] % size_ == 0) {
    const Integers window = {shape[1] / size_, shape[2] / size_};
    return avg_pool(x, {.window = window});
  }
  // Windows that overlap or differ in size are no pooling; the mean over a
  // rectangle is that over its rows, and over their columns.
  const Value rows = share_out(x, size_);
  const Value turned = transpose(rows, {0, 2, 1, 3});
  return transpose(share_out(turned, size_), {0, 2, 1, 3});
}

Value GlobalAvgPool::forward(const Value& x) { return mean(x, {1, 2}); }

Value Flatten::forward(const Value& x) {
  // No node is made for a row, which is flat already.
  if (x.shape().rank() == 2) return x;
  return reshape(x,
                 {x.shape()[0], product(x.shape().last(x.shape().rank() - 1))});
}

}  // namespace weft::nn
