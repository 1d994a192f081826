#include "weft/train/step/private_noise.h"

#include "weft/base/error.h"
#include "weft/privacy/noise/noise.h"

namespace weft {
namespace {

// The streams of a key that noise has: those of PoissonOrder are below. No two
// thousands of numbers have the same one.
constexpr std::uint64_t kNoiseStreams = std::uint64_t{1} << 63;
constexpr int kChunkBits = 20;
constexpr int kParameterBits = 16;
constexpr int kStepBits = 27;

std::uint64_t noise_stream(std::uint64_t step, std::uint64_t parameter) {
  WEFT_CHECK(step >> kStepBits == 0 && parameter >> kParameterBits == 0,
             "a run of so many steps, or a model of so many parameters, would "
             "draw the same noise twice");
  return kNoiseStreams | step << (kParameterBits + kChunkBits) |
         parameter << kChunkBits;
}

}  // namespace

void PrivateNoise::add(std::span<float> sum, std::int64_t number,
                       std::size_t parameter) const {
  if ((number + 1) % parts == 0) {
    privacy::add_gaussian(
        sum, deviation, key,
        noise_stream(static_cast<std::uint64_t>(number), parameter));
  }
  const auto scale =
      static_cast<float>(static_cast<double>(parts) / expected_batch);
  for (float& value : sum) value *= scale;
}

}  // namespace weft
