#include "weft/onnx/convolution.h"

#include "weft/base/index.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

Conv2dOptions options_of(const Taps& rows, const Taps& columns,
                         std::int64_t groups) {
  return {.strides = {rows.stride, columns.stride},
          .padding = {rows.before, rows.after, columns.before, columns.after},
          .dilation = {rows.dilation, columns.dilation},
          .groups = groups};
}

// An axis of one element behind the batch.
Shape with_row(const Shape& shape) {
  Shape result{shape[0], 1};
  for (const Dim dim : shape.last(shape.rank() - 1)) result.push_back(dim);
  return result;
}

Shape without_row(const Shape& shape) {
  Shape result{shape[0]};
  for (const Dim dim : shape.last(shape.rank() - 2)) result.push_back(dim);
  return result;
}

// The planes of a volume as images of a larger batch.
Shape planes_of(const Shape& volume) {
  return {dim_multiply(volume[0], volume[1]), volume[2], volume[3], volume[4]};
}

Shape volume_of(const Shape& planes, Dim batch, Dim depth) {
  return {batch, depth, planes[1], planes[2], planes[3]};
}

// The weights of one plane of a kernel over volumes.
Value plane_of(const Value& w, std::int64_t depth) {
  const Shape& shape = w.shape();
  return reshape(slice_axis(w, 0, depth, depth + 1),
                 Shape(shape.last(shape.rank() - 1)));
}

// A sum over the planes of the kernel, each of which sees planes of the image.
Value convolve_volume(const Value& x, const Value& w, const Windows& windows,
                      std::int64_t groups, Convolution convolve) {
  const Taps& depth = windows[0];
  const Value padded =
      pad(x, {0, depth.before, 0, 0, 0}, {0, depth.after, 0, 0, 0});
  const Dim there = padded.shape()[1];
  if (is_symbolic(there) || there < depth.span()) {
    throw Error(ErrorCode::kUnsupported, "Conv",
                "a volume of {} planes, for a kernel of {}", to_string(there),
                depth.span());
  }
  const Dim planes = (there - depth.span()) / depth.stride + 1;
  Value total;
  for (std::int64_t k = 0; k < depth.kernel; ++k) {
    const std::int64_t begin = k * depth.dilation;
    const std::int64_t end = begin + (planes - 1) * depth.stride + 1;
    const Value seen = slice(padded, {0, begin, 0, 0, 0},
                             {kToEnd, end, kToEnd, kToEnd, kToEnd},
                             {1, depth.stride, 1, 1, 1});
    const Value y =
        convolve(reshape(seen, planes_of(seen.shape())), plane_of(w, k),
                 options_of(windows[1], windows[2], groups));
    total = total.is_defined() ? total + y : y;
  }
  return reshape(total, volume_of(total.shape(), x.shape()[0], planes));
}

// Each plane of the kernel adds to planes that lie a stride apart.
Value transposed_volume(const Value& x, const Value& w, const Windows& windows,
                        std::int64_t groups, std::span<const Dim> sizes,
                        Dim channels) {
  const Taps& depth = windows[0];
  const Dim batch = x.shape()[0];
  const Dim planes = x.shape()[1];
  const Dim whole = sizes[0] + depth.before + depth.after;
  const Value seen = reshape(x, planes_of(x.shape()));
  Value total;
  for (std::int64_t k = 0; k < depth.kernel; ++k) {
    const Value y = conv2d_input_gradient(
        seen, plane_of(w, k), {seen.shape()[0], sizes[1], sizes[2], channels},
        options_of(windows[1], windows[2], groups));
    const std::int64_t begin = k * depth.dilation;
    const std::int64_t end = begin + (planes - 1) * depth.stride + 1;
    const Value placed = unslice(
        reshape(y, volume_of(y.shape(), batch, planes)),
        {batch, whole, sizes[1], sizes[2], channels}, {0, begin, 0, 0, 0},
        {kToEnd, end, kToEnd, kToEnd, kToEnd}, {1, depth.stride, 1, 1, 1});
    total = total.is_defined() ? total + placed : placed;
  }
  return slice_axis(total, 1, depth.before, depth.before + sizes[0]);
}

Error too_many_axes(std::size_t count) {
  return {ErrorCode::kUnsupported, "Conv",
          fmt::format("{} spatial axes; one to three are supported", count)};
}

}  // namespace

Value convolution(const Value& x, const Value& w, const Windows& windows,
                  std::int64_t groups, Convolution convolve) {
  switch (windows.size()) {
    case 1: {
      const Value y =
          convolve(reshape(x, with_row(x.shape())),
                   reshape(w, {1, w.shape()[0], w.shape()[1], w.shape()[2]}),
                   options_of({}, windows[0], groups));
      return reshape(y, without_row(y.shape()));
    }
    case 2:
      return convolve(x, w, options_of(windows[0], windows[1], groups));
    case 3:
      return convolve_volume(x, w, windows, groups, convolve);
    default:
      throw too_many_axes(windows.size());
  }
}

Value transposed_convolution(const Value& x, const Value& w,
                             const Windows& windows, std::int64_t groups,
                             std::span<const Dim> sizes) {
  const Shape& kernel = w.shape();
  const Dim channels = dim_multiply(kernel[kernel.rank() - 2], groups);
  const Dim batch = x.shape()[0];
  switch (windows.size()) {
    case 1: {
      const Value y = conv2d_input_gradient(
          reshape(x, with_row(x.shape())),
          reshape(w, {1, kernel[0], kernel[1], kernel[2]}),
          {batch, 1, sizes[0], channels}, options_of({}, windows[0], groups));
      return reshape(y, without_row(y.shape()));
    }
    case 2:
      return conv2d_input_gradient(x, w, {batch, sizes[0], sizes[1], channels},
                                   options_of(windows[0], windows[1], groups));
    case 3:
      return transposed_volume(x, w, windows, groups, sizes, channels);
    default:
      throw too_many_axes(windows.size());
  }
}

Value kernel_last(const OnnxValue& weights) {
  Integers order;
  for (int axis = 2; axis < weights.rank(); ++axis) order.push_back(axis);
  order.push_back(1);
  order.push_back(0);
  const ContextScope scope(weights.is_known() ? eager_context()
                                              : current_context());
  return transpose(weights.plain(), order);
}

}  // namespace weft::onnx
