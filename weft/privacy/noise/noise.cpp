#include "weft/privacy/noise/noise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sodium.h>

#include "weft/base/error.h"
#include "weft/base/parallel.h"
#include "weft/privacy/noise/normal_chunk.h"

namespace weft::privacy {
namespace {

// Which a call of ChaCha20 makes the words of; each has a nonce of its own.
constexpr std::size_t kChunk = 2048;
constexpr int kGridsInDeviation = 12;  // 2^12 at least
constexpr int kMostExponent = 100;

static_assert(kChunk % kNormalsAtOnce == 0);

using ChunkWords = std::array<std::uint64_t, kChunk>;

void check_deviation(double deviation) {
  const double most = std::exp2(kMostExponent);
  if (deviation >= 1 / most && deviation <= most) return;
  throw Error(ErrorCode::kInvalidArgument, "noise",
              "a deviation of {} is not a number of [2^-{}, 2^{}]", deviation,
              kMostExponent, kMostExponent);
}

}  // namespace

double noise_grid(double deviation) {
  check_deviation(deviation);
  return std::exp2(std::ilogb(deviation) - kGridsInDeviation);
}

void add_gaussian(std::span<float> values, double deviation,
                  const SecretKey& key, std::uint64_t stream) {
  const double grid = noise_grid(deviation);
  const auto chunks =
      static_cast<std::int64_t>((values.size() + kChunk - 1) / kChunk);
  parallel_for(chunks, 4, [&](std::int64_t begin, std::int64_t end) {
    ChunkWords words;
    std::array<float, kChunk> part;
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      weft::fill_words(words, key, stream + static_cast<std::uint64_t>(chunk));
      const auto at = static_cast<std::size_t>(chunk) * kChunk;
      const std::size_t count = std::min(kChunk, values.size() - at);
      // The last chunk may end anywhere.
      std::copy_n(values.data() + at, count, part.data());
      std::fill(part.begin() + static_cast<std::ptrdiff_t>(count), part.end(),
                0.0F);
      add_normals(words.data(), part.data(), kChunk, deviation, grid);
      std::copy_n(part.data(), count, values.data() + at);
    }
    sodium_memzero(words.data(), sizeof(words));
    sodium_memzero(part.data(), sizeof(part));
  });
}

}  // namespace weft::privacy
