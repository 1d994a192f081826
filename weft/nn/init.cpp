#include "weft/nn/init.h"

#include <algorithm>
#include <cmath>

#include "weft/base/parallel.h"
#include "weft/base/philox.h"
#include "weft/kernels/simd/normals.h"
#include "weft/kernels/simd/philox_blocks.h"

namespace weft::nn {
namespace {

// A thread is worth its start from about so many groups of words on.
constexpr std::int64_t kGroupsPerThread = 256;

// A number from each word of a group: all of them at once, as their functions
// are vectors'.
void draw_group(const Init& init, const std::uint32_t* words, float* values) {
  const auto scale = static_cast<float>(init.scale);
  if (init.kind == Init::Kind::kUniform) {
    for (int i = 0; i < kPhiloxWords; ++i)
      values[i] = (2 * uniform_from(words[i]) - 1) * scale;
    return;
  }
  normals(words, values, kPhiloxWords);
  for (int i = 0; i < kPhiloxWords; ++i) values[i] *= scale;
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
  const std::int64_t size = result.type().shape.num_elements();
  parallel_for(
      (size + kPhiloxWords - 1) / kPhiloxWords, kGroupsPerThread,
      [&](std::int64_t first, std::int64_t last) {
        std::uint32_t words[kPhiloxWords];
        float drawn[kPhiloxWords];
        for (std::int64_t group = first; group < last; ++group) {
          philox_blocks(
              random, static_cast<std::uint64_t>(group) * kPhiloxBlocks, words);
          draw_group(init, words, drawn);
          const std::int64_t begin = group * kPhiloxWords;
          std::copy_n(drawn, std::min<std::int64_t>(kPhiloxWords, size - begin),
                      values.begin() + begin);
        }
      });
  return result;
}

}  // namespace weft::nn
