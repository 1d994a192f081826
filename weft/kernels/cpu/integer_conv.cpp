// Convolutions of small integers, as products of numbers widened to i16 whose
// rows are the pixels that a window sees.
#include "weft/ops/support/convolution.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/integer_conv.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/cpu/widening_kernel.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// There is one product for each group.
template <class T>
class WideningConvolution : public WideningKernel {
 public:
  explicit WideningConvolution(const OpCall& call)
      : WideningKernel(sizes(call), products_of(call), rights_of(call)),
        x_(call.input(0).shape),
        w_(call.input(1).shape),
        y_(call.outputs[0].shape),
        window_(window_of(call, w_[0], w_[1])) {}

 protected:
  void rows(const void* x, std::int64_t group, std::int64_t row,
            std::int64_t count, std::int16_t* to) const noexcept override {
    // A group sees its own channels of each pixel.
    const T* pixels = static_cast<const T*>(x) + group * w_[2];
    for (std::int64_t i = row; i < row + count; ++i, to += row_size()) {
      const T* image = pixels + i / (y_[1] * y_[2]) * x_[1] * x_[2] * x_[3];
      gather(image, i / y_[2] % y_[1], i % y_[2], to);
    }
  }

 private:
  // What the window at (row, column) sees, tap by tap; padding is 0.
  void gather(const T* image, std::int64_t row, std::int64_t column,
              std::int16_t* to) const noexcept {
    const std::int64_t channels = w_[2];
    std::int16_t* const end = to + row_size();
    for (std::int64_t t = 0; t < w_[0]; ++t) {
      const std::int64_t x_row = window_.rows.position(row, t);
      for (std::int64_t u = 0; u < w_[1]; ++u, to += channels) {
        const std::int64_t x_column = window_.columns.position(column, u);
        const bool is_inside =
            x_row >= 0 && x_row < x_[1] && x_column >= 0 && x_column < x_[2];
        if (is_inside) {
          widen(image + (x_row * x_[2] + x_column) * x_[3], 1, channels, to);
        } else {
          std::fill_n(to, channels, std::int16_t{0});
        }
      }
    }
    // The product takes whole vectors: zeros behind the row add nothing.
    std::fill(to, end, std::int16_t{0});
  }

  static Sizes sizes(const OpCall& call) {
    const Shape& w = call.input(1).shape;
    const Shape& y = call.outputs[0].shape;
    return {y[0] * y[1] * y[2], w[0] * w[1] * w[2],
            y[3] / call.attributes.integer("groups"), y[3]};
  }
  static std::vector<Product> products_of(const OpCall& call) {
    std::vector<Product> products;
    const Sizes size = sizes(call);
    for (std::int64_t g = 0; g < call.attributes.integer("groups"); ++g) {
      products.push_back({static_cast<std::size_t>(g), g * size.n});
    }
    return products;
  }
  static std::vector<Right> rights_of(const OpCall& call) {
    std::vector<Right> rights;
    const Sizes size = sizes(call);
    for (std::int64_t g = 0; g < call.attributes.integer("groups"); ++g) {
      rights.push_back({g * size.n, size.result_row, 1});
    }
    return rights;
  }

  Shape x_, w_, y_;
  Window window_;
};

std::unique_ptr<PreparedKernel> prepare_widening(const OpCall& call) {
  if (call.input(0).dtype == DType::kI8) {
    return std::make_unique<WideningConvolution<std::int8_t>>(call);
  }
  return std::make_unique<WideningConvolution<std::uint8_t>>(call);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

std::optional<std::string> integer_conv_declines(const OpCall& call) {
  // The reference gives the zeros, or the nothing, that is left.
  const bool is_empty = call.input(0).shape.num_elements() == 0 ||
                        call.input(1).shape.num_elements() == 0 ||
                        call.outputs[0].shape.num_elements() == 0;
  return is_empty ? std::optional<std::string>("an operand is empty")
                  : std::nullopt;
}

}  // namespace

void register_cpu_integer_conv(KernelRegistry& kernels) {
  kernels.add({.op = "integer_conv2d",
               .name = "simd:widening",
               .rank = 10,
               .declines = integer_conv_declines,
               .prepare = WEFT_FOR_MACHINE(prepare_widening)});
}

}  // namespace weft
#endif
