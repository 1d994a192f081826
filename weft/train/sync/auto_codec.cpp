#include "weft/train/sync/auto_codec.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "weft/base/philox.h"
#include "weft/comm/codec/pipeline.h"
#include "weft/train/sync/gather.h"

namespace weft {
namespace {

// Bandwidths between which one is looked for that breaks even, bits/s.
constexpr double kSlowest = 1e4;
constexpr double kFastest = 1e13;
// The sample: so many gradients of a convolution of 64 x 64 x 3 x 3 weights,
// whose values are normal ones to a power, signs kept. Scales differ between
// layers, but each tensor is encoded alone.
constexpr std::size_t kSampleSize = std::size_t{64} * 64 * 9;
constexpr std::uint32_t kSampleSteps = 40;
// The power is such that 3LC with error feedback leaves as many bits per value
// as of the gradients of ResNet-20 on CIFAR-10 (docs/results/comm.md): 0.32 of
// those of one worker, 0.86 of those of four, each of a quarter of the batch.
// The fewer examples a gradient is of, the more of it is noise, whose tails are
// lighter. Nothing is known of more than four workers, which are taken for
// four.
double sample_power(int workers) {
  constexpr double kOfOne = 2.19;
  constexpr double kOfFour = 1.15;
  const double quarters = std::min(std::log2(workers), 2.0) / 2;
  return kOfOne + (kOfFour - kOfOne) * quarters;
}

// The network with another bandwidth of its slowest level.
Topology with_bandwidth(Topology network, double bits_per_s) {
  network.levels.back().seconds_per_byte = 8 / bits_per_s;
  return network;
}

// Finds where the two cost the same, by bisection on the logarithm: the gain of
// fewer bytes shrinks as the network gets faster.
double break_even(const CodecSpeed& speed, const CodecSpeed& none,
                  const Topology& network, double bytes,
                  const Call<SyncPolicyDef>& policy) {
  const auto pays = [&](double bits_per_s) {
    const Topology other = with_bandwidth(network, bits_per_s);
    return policy.def->seconds(policy.options, speed, other, bytes) <
           policy.def->seconds(policy.options, none, other, bytes);
  };
  double low = kSlowest;
  double high = kFastest;
  if (!pays(low)) return 0;
  if (pays(high)) return std::numeric_limits<double>::infinity();
  // Forty halvings of nine decades leave far less than the digits that are
  // shown.
  for (int i = 0; i < 40; ++i) {
    const double middle = std::sqrt(low * high);
    (pays(middle) ? low : high) = middle;
  }
  return low;
}

std::vector<float> sample_gradient(std::uint32_t step, double power) {
  const RandomStream random{1, 7, step};
  std::vector<float> values(kSampleSize);
  static_assert(kSampleSize % 4 == 0);
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const PhiloxBlock block = random.block(i / 4);
    for (std::size_t pair = 0; pair < 4; pair += 2) {
      const auto normals = normal_from(block[pair], block[pair + 1]);
      for (std::size_t k = 0; k < 2; ++k) {
        values[i + pair + k] = std::copysign(
            std::pow(std::abs(normals[k]), static_cast<float>(power)),
            normals[k]);
      }
    }
  }
  return values;
}

double median(std::vector<double> values) {
  // The median leaves out steps in which the machine did something else.
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string bandwidth_text(double bits_per_s) {
  if (bits_per_s == 0) return "never";
  if (std::isinf(bits_per_s)) return "always";
  return bits_per_s >= 1e9 ? fmt::format("{:.1f} Gbit/s", bits_per_s / 1e9)
                           : fmt::format("{:.0f} Mbit/s", bits_per_s / 1e6);
}

}  // namespace

std::vector<std::string> codec_candidates() {
  std::vector<std::string> candidates{"none"};
  for (const CodecDef<ValueCodec>& def : value_codec_registry().all()) {
    if (!def.candidate.empty()) candidates.push_back(def.candidate);
  }
  return candidates;
}

// What feedback holds back returns in later steps: messages of one step alone
// would be far smaller than those of training.
CodecSpeed measure_codec(const std::string& codec, int workers) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const Pipeline pipeline(codec);
  std::vector<float> memory(pipeline.needs_feedback() ? kSampleSize : 0);
  std::vector<float> decoded(kSampleSize);
  Message message;
  double sent = 0;
  std::vector<double> encoding;
  std::vector<double> decoding;
  for (std::uint32_t step = 0; step < kSampleSteps; ++step) {
    const std::vector<float> gradient =
        sample_gradient(step, sample_power(workers));
    const MessageId id{1, 0, step, 0};
    const auto start = Clock::now();
    pipeline.encode(gradient, memory, id, message);
    const auto is_encoded = Clock::now();
    pipeline.decode(message.bytes, id, decoded);
    const auto is_decoded = Clock::now();
    encoding.push_back(Seconds(is_encoded - start).count());
    decoding.push_back(Seconds(is_decoded - is_encoded).count());
    sent += static_cast<double>(message.bytes.size());
  }
  constexpr double kBytes = kSampleSize * sizeof(float);
  return {.codec = codec,
          .is_added_on_its_way = pipeline.summable_as() != "",
          .ratio = sent / (kSampleSteps * kBytes),
          .encode_seconds_per_byte = median(encoding) / kBytes,
          .decode_seconds_per_byte = median(decoding) / kBytes};
}

std::vector<CodecPrice> price_codecs(std::span<const CodecSpeed> speeds,
                                     const Topology& network, double bytes,
                                     const Call<SyncPolicyDef>& policy) {
  WEFT_CHECK(!speeds.empty() && speeds[0].codec == "none");
  std::vector<CodecPrice> prices;
  for (const CodecSpeed& speed : speeds) {
    prices.push_back(
        {speed.codec,
         policy.def->seconds(policy.options, speed, network, bytes),
         &speed == &speeds[0]
             ? 0
             : break_even(speed, speeds[0], network, bytes, policy)});
  }
  // Among equals the first candidate stands, which is "none".
  std::ranges::stable_sort(prices, {}, &CodecPrice::seconds);
  return prices;
}

AutoCodec choose_codec(Communicator& communicator, AsyncEngine& network,
                       const Topology& topology, double bytes,
                       const Call<SyncPolicyDef>& policy) {
  const std::vector<std::string> candidates = codec_candidates();
  // Ratio, encode and decode of each; zeros but on the first.
  std::vector<double> numbers(3 * candidates.size());
  for (std::size_t i = 0; communicator.rank() == 0 && 3 * i < numbers.size();
       ++i) {
    const CodecSpeed speed = measure_codec(candidates[i], communicator.size());
    numbers[3 * i] = speed.ratio;
    numbers[3 * i + 1] = speed.encode_seconds_per_byte;
    numbers[3 * i + 2] = speed.decode_seconds_per_byte;
  }
  network.wait(network.submit([&] {
    return sum_over_workers(communicator.open({"sum", "codec speeds"}),
                            numbers);
  }));
  std::vector<CodecSpeed> speeds;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    speeds.push_back(
        {.codec = candidates[i],
         .is_added_on_its_way = Pipeline(candidates[i]).summable_as() != "",
         .ratio = numbers[3 * i],
         .encode_seconds_per_byte = numbers[3 * i + 1],
         .decode_seconds_per_byte = numbers[3 * i + 2]});
  }
  const auto prices = price_codecs(speeds, topology, bytes, policy);
  AutoCodec result{prices[0].codec, {}};
  const double bandwidth = 8 / topology.levels.back().seconds_per_byte;
  result.explanation =
      fmt::format("codec auto: {} at {} ({:.1f} ms a step", result.codec,
                  bandwidth_text(bandwidth), 1e3 * prices[0].seconds);
  for (std::size_t i = 1; i < prices.size(); ++i) {
    result.explanation +=
        fmt::format(", {} {:.1f}", prices[i].codec, 1e3 * prices[i].seconds);
  }
  result.explanation += "); pays below:";
  for (const CodecPrice& price : prices) {
    if (price.codec == "none") continue;
    result.explanation +=
        fmt::format(" {} {}", price.codec, bandwidth_text(price.pays_below));
  }
  return result;
}

}  // namespace weft
