#include "weft/nn/conv2d.h"

#include "weft/base/error.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/shape.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {
namespace {

Value add_channels(const Value& y, const ParameterRef& bias) {
  return bias ? y + to_compute(value_of(bias)) : y;
}

}  // namespace

void ConvOptions::check(std::string_view layer, std::int64_t inputs,
                        std::int64_t outputs) const {
  // Each group reads and writes channels of its own, of which there must be
  // equally many.
  if (groups >= 1 && inputs % groups == 0 && outputs % groups == 0) return;
  throw Error(ErrorCode::kInvalidArgument, layer,
              "{} groups do not divide {} input and {} output channels", groups,
              inputs, outputs);
}

Init ConvOptions::weight_init(std::int64_t fan_in) const {
  return init.value_or(Init::fan_in(fan_in));
}

Init ConvOptions::bias_init(std::int64_t fan_in) const {
  return init ? Init::constant(0) : Init::fan_in(fan_in);
}

Conv2dOptions ConvOptions::of_kernel(const KernelSize& kernel) const {
  return {.strides = {stride, stride},
          // "Same" padding depends on the kernel, which options alone do not
          // know.
          .padding = padding == kSame
                         ? same_padding(kernel.rows, kernel.columns, dilation)
                         : Integers{padding, padding, padding, padding},
          .dilation = {dilation, dilation},
          .groups = groups};
}

Conv2d::Conv2d(std::int64_t inputs, std::int64_t outputs, KernelSize kernel,
               ConvOptions options)
    : options_(options), kernel_(kernel) {
  options.check("conv2d", inputs, outputs);
  const std::int64_t per_group = inputs / options.groups;
  // One output sums over a window of its group's channels: that is its fan-in.
  const std::int64_t fan_in = kernel.rows * kernel.columns * per_group;
  weight_ =
      parameter("weight", {kernel.rows, kernel.columns, per_group, outputs},
                options.weight_init(fan_in));
  if (options.bias) {
    bias_ = parameter("bias", {outputs}, options.bias_init(fan_in));
  }
}

Value Conv2d::forward(const Value& x) {
  const Value y = conv2d(to_compute(x), to_compute(value_of(weight_)),
                         options_.of_kernel(kernel_));
  return add_channels(y, bias_);
}

Conv1d::Conv1d(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
               ConvOptions options)
    : options_(options), kernel_(kernel) {
  options.check("conv1d", inputs, outputs);
  const std::int64_t per_group = inputs / options.groups;
  const std::int64_t fan_in = kernel * per_group;
  weight_ = parameter("weight", {kernel, per_group, outputs},
                      options.weight_init(fan_in));
  if (options.bias) {
    bias_ = parameter("bias", {outputs}, options.bias_init(fan_in));
  }
}

// An image of one row.
Value Conv1d::forward(const Value& x) {
  if (x.shape().rank() != 3) {
    throw Error(ErrorCode::kInvalidArgument, "conv1d",
                "takes [batch, length, channels], not {}",
                to_string(x.shape()));
  }
  // The one row is neither padded nor strided: both would make rows of zeros,
  // or none.
  Conv2dOptions options = options_.of_kernel(kernel_);
  options.strides[0] = 1;
  options.padding[0] = options.padding[1] = 0;
  const Shape& rows = x.shape();
  const Value w = to_compute(value_of(weight_));
  const Shape& taps = w.shape();
  // It has the image's kernels and rewrites this way, at the price of two
  // views.
  const Value y = conv2d(reshape(to_compute(x), {rows[0], 1, rows[1], rows[2]}),
                         reshape(w, {1, taps[0], taps[1], taps[2]}), options);
  const Shape& made = y.shape();
  return add_channels(reshape(y, {made[0], made[2], made[3]}), bias_);
}

ConvTranspose2d::ConvTranspose2d(std::int64_t inputs, std::int64_t outputs,
                                 std::int64_t kernel, ConvOptions options,
                                 std::int64_t output_padding)
    : options_(options),
      outputs_(outputs),
      kernel_(kernel),
      output_padding_(output_padding) {
  options.check("conv_transpose2d", inputs, outputs);
  const bool is_same = options.padding == ConvOptions::kSame;
  // Several sizes have one size as their convolution, which differ by less than
  // the stride: `output_padding` says which of them is meant.
  if (output_padding < 0 || output_padding >= (is_same ? 1 : options.stride)) {
    throw Error(ErrorCode::kInvalidArgument, "conv_transpose2d",
                "{} pixels more behind are not fewer than the stride {}",
                output_padding, options.stride)
        .hint("\"same\" padding settles the size: it takes none");
  }
  const std::int64_t per_group = outputs / options.groups;
  const std::int64_t fan_in = kernel * kernel * per_group;
  // The shape is that of the convolution whose transpose this is: its inputs
  // are the outputs here.
  weight_ = parameter("weight", {kernel, kernel, per_group, inputs},
                      options.weight_init(fan_in));
  if (options.bias) {
    bias_ = parameter("bias", {outputs}, options.bias_init(fan_in));
  }
}

Dim ConvTranspose2d::size_from(Dim size) const {
  const Dim apart = dim_multiply(size, options_.stride);
  if (options_.padding == ConvOptions::kSame) return apart;
  // (size - 1) stride + reach of the kernel - both paddings.
  const std::int64_t more = options_.dilation * (kernel_ - 1) + 1 +
                            output_padding_ - options_.stride -
                            2 * options_.padding;
  return more < 0 ? dim_subtract(apart, -more) : dim_add(apart, more);
}

Value ConvTranspose2d::forward(const Value& x) {
  const Shape& shape = x.shape();
  if (shape.rank() != 4) {
    throw Error(ErrorCode::kInvalidArgument, "conv_transpose2d",
                "takes [batch, rows, columns, channels], not {}",
                to_string(shape));
  }
  const Shape made = {shape[0], size_from(shape[1]), size_from(shape[2]),
                      outputs_};
  const Value y =
      // The gradient of a convolution by its input is the transpose of that
      // convolution, and has kernels of its own.
      conv2d_input_gradient(to_compute(x), to_compute(value_of(weight_)), made,
                            options_.of_kernel(kernel_));
  return add_channels(y, bias_);
}

}  // namespace weft::nn
