#include "weft/nn/init.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/base/philox.h"

namespace weft::nn {
namespace {

// Four of them, from the four words of a block.
std::array<float, 4> drawn(const Init& init, const PhiloxBlock& block) {
  const auto scale = static_cast<float>(init.scale);
  std::array<float, 4> values = {};
  if (init.kind == Init::Kind::kUniform) {
    for (std::size_t i = 0; i < 4; ++i) {
      values[i] = (2 * uniform_from(block[i]) - 1) * scale;
    }
    return values;
  }
  // Two words make two normal numbers.
  for (std::size_t i = 0; i < 4; i += 2) {
    const std::array<float, 2> pair = normal_from(block[i], block[i + 1]);
    values[i] = pair[0] * scale;
    values[i + 1] = pair[1] * scale;
  }
  return values;
}

}  // namespace

Init Init::fan_in(std::int64_t inputs) {
  // PyTorch's bound is sqrt(6 / ((1 + a²) fan_in)) with a = √5, which is this.
  return uniform(1 / std::sqrt(static_cast<double>(inputs)));
}

Init Init::he_uniform(std::int64_t inputs) {
  // A uniform number has a third of its bound squared as its variance, so this
  // is the variance 2 / fan_in of eq. 10.
  return uniform(std::sqrt(6 / static_cast<double>(inputs)));
}

Init Init::he_normal(std::int64_t fan) {
  return normal(std::sqrt(2 / static_cast<double>(fan)));
}

Tensor initial_value(const TensorType& type, const Init& init,
                     std::uint64_t seed, std::string_view name) {
  WEFT_CHECK(init.kind != Init::Kind::kGiven, "nothing to draw");
  WEFT_CHECK(type.dtype == DType::kF32, "parameters are f32");
  Tensor result = Tensor::empty(type);
  const std::span<float> values = result.span<float>();
  if (init.kind == Init::Kind::kConstant) {
    std::fill(values.begin(), values.end(), static_cast<float>(init.scale));
    return result;
  }
  // The stream is that of the full name: what a parameter starts with does not
  // depend on which others the model has. Each element is a function of its own
  // place alone.
  const RandomStream random{seed, stream_of(name), 0};
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const std::array<float, 4> block = drawn(init, random.block(i / 4));
    std::copy_n(block.begin(), std::min<std::size_t>(4, values.size() - i),
                values.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return result;
}

}  // namespace weft::nn
