#include "weft/comm/codec/measure.h"

#include <algorithm>
#include <cmath>

#include "weft/base/stopwatch.h"
#include "weft/comm/codec/pipeline.h"
#include "weft/comm/codec/pipeline_text.h"

namespace weft {
namespace {

// Seconds of the fastest of several runs.
template <class Body>
double seconds_of(Body&& body) {
  constexpr double kEnough = 0.1;
  constexpr int kLeastRuns = 3;
  const Stopwatch whole;
  double best = HUGE_VAL;
  // The fastest run is the one that was disturbed least.
  for (int run = 0; run < kLeastRuns || whole.seconds() < kEnough; ++run) {
    const Stopwatch watch;
    body();
    best = std::min(best, watch.seconds());
  }
  return best;
}

double relative_error(std::span<const float> values,
                      std::span<const float> decoded) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = double{values[i]} - decoded[i];
    error += difference * difference;
    norm += double{values[i]} * values[i];
  }
  return norm > 0 ? std::sqrt(error / norm) : 0;
}

StageReport measure(std::string stage, const Pipeline& pipeline,
                    std::span<const float> values) {
  // One seed for all stages: they draw the same, so reports differ by the
  // stages alone.
  const MessageId id{.seed = 1};
  Message message;
  std::vector<float> decoded(values.size());
  const double encoding =
      seconds_of([&] { pipeline.encode(values, {}, id, message); });
  const double decoding =
      seconds_of([&] { pipeline.decode(message.bytes, id, decoded); });
  const auto bytes = static_cast<double>(values.size_bytes());
  return {.stage = std::move(stage),
          .bytes = message.bytes.size(),
          .bits_per_value = 8.0 * static_cast<double>(message.bytes.size()) /
                            static_cast<double>(values.size()),
          .relative_error = relative_error(values, decoded),
          .encode_bytes_per_s = bytes / encoding,
          .decode_bytes_per_s = bytes / decoding};
}

}  // namespace

std::vector<StageReport> measure_pipeline(std::string_view text,
                                          std::span<const float> values) {
  if (values.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "codec",
                "there is nothing to measure in a tensor without elements");
  }
  // All of it first: a mistake in a later stage shall not cost the time of
  // the earlier ones.
  const Pipeline checked(text, {.min_elements = 0});
  const PipelineText whole = parse_pipeline(text);
  PipelineText part;
  std::vector<StageReport> reports;
  const auto add = [&](auto PipelineText::*stage) {
    if (!(whole.*stage)) return;
    // Stages add up: a report is of all stages so far.
    part.*stage = whole.*stage;
    const Pipeline pipeline(to_string(part), {.min_elements = 0});
    reports.push_back(measure(to_string(*(whole.*stage)), pipeline, values));
  };
  add(&PipelineText::sparsifier);
  add(&PipelineText::index);
  add(&PipelineText::value);
  add(&PipelineText::bytes);
  return reports;
}

std::vector<float> synthetic_gradient(std::size_t size, std::uint64_t seed) {
  const RandomStream random{seed, 7, 0};
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    const PhiloxBlock block = random.block(i);
    // Scales change from block to block and one value in fifty is ten times as
    // large: codecs that share one scale, and those that pick the largest, both
    // have something to lose.
    const float scale = 0.01f * static_cast<float>(1 + i / 64 % 5);
    const bool is_large = block[2] % 50 == 0;
    values[i] =
        normal_from(block[0], block[1])[0] * (is_large ? 10 * scale : scale);
  }
  return values;
}

}  // namespace weft
