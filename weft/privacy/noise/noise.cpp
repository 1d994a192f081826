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

static_assert(crypto_stream_chacha20_KEYBYTES == 32);
static_assert(crypto_stream_chacha20_NONCEBYTES == sizeof(std::uint64_t));
static_assert(kChunk % kNormalsAtOnce == 0);

using ChunkWords = std::array<std::uint64_t, kChunk>;

void fill_words(const std::array<std::uint8_t, 32>& key, std::uint64_t chunk,
                ChunkWords& words) {
  std::array<std::uint8_t, sizeof(chunk)> nonce;
  std::memcpy(nonce.data(), &chunk, sizeof(chunk));
  crypto_stream_chacha20(reinterpret_cast<std::uint8_t*>(words.data()),
                         sizeof(words), nonce.data(), key.data());
}

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

NoiseSource::NoiseSource() {
  if (sodium_init() < 0) {
    throw Error(ErrorCode::kUnavailable, "noise",
                "the system's random generator is not there");
  }
  randombytes_buf(key_.data(), key_.size());
}

NoiseSource::NoiseSource(std::uint64_t seed) : key_{} {
  std::memcpy(key_.data(), &seed, sizeof(seed));
}

NoiseSource::~NoiseSource() { sodium_memzero(key_.data(), key_.size()); }

void NoiseSource::add_gaussian(std::span<float> values, double deviation) {
  const double grid = noise_grid(deviation);
  const auto chunks =
      static_cast<std::int64_t>((values.size() + kChunk - 1) / kChunk);
  const std::uint64_t first = next_chunk_;
  next_chunk_ += static_cast<std::uint64_t>(chunks);
  parallel_for(chunks, 4, [&](std::int64_t begin, std::int64_t end) {
    ChunkWords words;
    std::array<float, kChunk> part;
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      fill_words(key_, first + static_cast<std::uint64_t>(chunk), words);
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

void NoiseSource::fill_gaussian(std::span<float> out, double deviation) {
  std::fill(out.begin(), out.end(), 0.0F);
  add_gaussian(out, deviation);
}

}  // namespace weft::privacy
