#include "weft/comm/sparse/quantizer.h"

#include <algorithm>

#include "weft/base/call_reader.h"
#include "weft/comm/sparse/all_reduce.h"

namespace weft {
namespace {

constexpr const char* kName = "quantizer";
constexpr const char* kNone = "none";

std::unique_ptr<ValueCodec> codec_of(const std::string& text) {
  const auto call = parse_call(text, value_codec_registry(), kName);
  // Where there is no codec, values travel as they are.
  return call.def->name == kNone ? nullptr : call.def->make(call.options);
}

// The sample is of normal values, as sums of many values are.
double bytes_per_value(const ValueCodec& codec) {
  constexpr std::size_t kSample = 4096;
  // The seed is fixed, since all ranks choose by this number and must choose
  // alike.
  const RandomStream random{.seed = 1};
  std::vector<float> values(kSample);
  for (std::size_t i = 0; i < kSample; ++i) {
    values[i] = normal_from(random.word(2 * i), random.word(2 * i + 1))[0];
  }
  Bytes bytes;
  ByteWriter out(bytes);
  codec.encode(values, {}, {}, out);
  return static_cast<double>(bytes.size()) / kSample;
}

}  // namespace

OptionSpec quantizer_option() {
  return {.name = kName,
          .value = std::string(kNone),
          .summary = "the value codec of dense phases: \"qsgd(4)\", …",
          .calls = calls_of<value_codec_registry>()};
}

Quantizer make_quantizer(const std::string& text) {
  Quantizer result{codec_of(text), 0};
  if (result.codec != nullptr) {
    result.value_bytes = bytes_per_value(*result.codec);
  }
  return result;
}

std::optional<Refusal> quantizer_declines(const std::string& text) {
  const auto codec = codec_of(text);
  if (codec == nullptr || (codec->is_for_dense() && codec->is_unbiased())) {
    return std::nullopt;
  }
  return Refusal{fmt::format("quantizer '{}'", text),
                 "it leaves out what nobody keeps, and sums must be right on "
                 "average",
                 "qsgd(4) rounds at random, and is right on average"};
}

bool SparseAllReduceDef::can_quantize() const {
  return std::ranges::find(options, kName, &OptionSpec::name) != options.end();
}

}  // namespace weft
