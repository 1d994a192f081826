#include "weft/train/step/noise.h"

#include <array>
#include <vector>

#include "weft/base/error.h"
#include "weft/kernels/simd/normals.h"

namespace weft {
namespace {

constexpr std::size_t kDraws = 4;  // that a number is the sum of
// Numbers that are made together: their words stay in the cache.
constexpr std::size_t kAtOnce = 2048;
constexpr std::uint64_t kNoiseStreams = std::uint64_t{1} << 63;
constexpr std::uint64_t kMostParameters = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 43;

}  // namespace

std::uint64_t noise_stream(std::uint64_t step, std::uint64_t parameter) {
  // No two streams of a key are the same: who joins has those below.
  WEFT_CHECK(step < kMostSteps && parameter < kMostParameters);
  return kNoiseStreams + step * kMostParameters + parameter;
}

void fill_gaussian(std::span<float> out, double deviation, const SecretKey& key,
                   std::uint64_t stream) {
  // normals() takes words in sixteens.
  const std::size_t padded = (out.size() + 15) / 16 * 16;
  std::vector<std::uint32_t> words(kDraws * padded);
  fill_words(words, key, stream);
  std::array<float, kAtOnce> draw;
  const double scale =
      deviation / 2;  // the sum of four has twice the deviation
  for (std::size_t begin = 0; begin < padded; begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, padded - begin);
    std::array<double, kAtOnce> sums{};
    for (std::size_t k = 0; k < kDraws; ++k) {
      normals(words.data() + k * padded + begin, draw.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        sums[i] += static_cast<double>(draw[i]);
      }
    }
    const std::size_t end = std::min(begin + count, out.size());
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = static_cast<float>(scale * sums[i - begin]);
    }
  }
}

}  // namespace weft
