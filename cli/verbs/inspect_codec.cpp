// weft inspect codec TEXT: what a pipeline of codecs makes of a tensor.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/comm/codec/measure.h"
#include "weft/comm/codec/pipeline.h"
#include "weft/files/safetensors.h"

namespace weft::cli {
namespace {

struct InspectCodecArguments {
  std::string text;
  std::string tensor;
  bool as_json = false;
};

// A million values are enough that constant costs do not show in the rates.
constexpr std::size_t kSyntheticSize = std::size_t{1} << 20;

// The tensor NAME of a file, from "FILE:NAME".
std::vector<float> read_values(const std::string& place) {
  // Paths may hold colons, so the last one counts.
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument, "--tensor", "'{}' names no tensor",
                place)
        .hint("write FILE:NAME; weft inspect FILE lists the names");
  }
  const SafetensorsFile file(place.substr(0, colon));
  const Tensor tensor = file.read(place.substr(colon + 1));
  if (tensor.type().dtype != DType::kF32) {
    throw Error(ErrorCode::kUnsupported, place,
                "codecs are for f32 tensors; this is {}",
                to_string(tensor.type()));
  }
  const auto* values = static_cast<const float*>(tensor.raw());
  return {values, values + tensor.type().shape.num_elements()};
}

Json stage_report(const StageReport& report) {
  return {{"stage", report.stage},
          {"bytes", report.bytes},
          {"bits_per_value", number(report.bits_per_value)},
          {"relative_error", number(report.relative_error)},
          {"encode_bytes_per_s", number(report.encode_bytes_per_s)},
          {"decode_bytes_per_s", number(report.decode_bytes_per_s)}};
}

void print(const StageReport& report) {
  fmt::print("{:>12} {:>11.3f} {:>11.4f} {:>7.2f} GB/s {:>7.2f} GB/s  {}\n",
             grouped(static_cast<std::int64_t>(report.bytes)),
             report.bits_per_value, report.relative_error,
             report.encode_bytes_per_s / 1e9, report.decode_bytes_per_s / 1e9,
             report.stage);
}

void inspect(const InspectCodecArguments& arguments) {
  // A wrong text is refused before any file is read.
  const Pipeline pipeline(arguments.text);
  const std::vector<float> values = arguments.tensor.empty()
                                        ? synthetic_gradient(kSyntheticSize)
                                        : read_values(arguments.tensor);
  const auto size = static_cast<std::int64_t>(values.size());
  const auto reports = measure_pipeline(arguments.text, values);
  if (arguments.as_json) {
    Json stages = Json::array();
    for (const StageReport& report : reports) {
      stages.push_back(stage_report(report));
    }
    print_json(
        {{"pipeline", pipeline.text()},
         {"tensor", arguments.tensor.empty() ? "synthetic" : arguments.tensor},
         {"elements", size},
         {"bytes", 4 * size},
         {"needs_feedback", pipeline.needs_feedback()},
         {"stages", stages}});
    return;
  }
  fmt::print("{}\n", pipeline.text());
  fmt::print(
      "on {}: {} values, {} as f32{}\n\n",
      arguments.tensor.empty() ? "a synthetic gradient"
                               : printable(arguments.tensor),
      grouped(size), bytes_text(4.0 * static_cast<double>(size)),
      arguments.tensor.empty() ? "; --tensor FILE:NAME for a real one" : "");
  fmt::print("{:>12} {:>11} {:>11} {:>12} {:>12}  after the stage\n", "bytes",
             "bits/value", "error (L2)", "encode", "decode");
  for (const StageReport& report : reports) print(report);
  // A biased codec trains only with error feedback, so this is said.
  fmt::print("\n{}\n", pipeline.needs_feedback()
                           ? "biased: training adds what is left out to the "
                             "next gradient"
                           : "unbiased: training needs no error feedback");
}

void add_inspect_codec(CLI::App& verb) {
  auto arguments = std::make_shared<InspectCodecArguments>();
  verb.add_option("PIPELINE", arguments->text,
                  "such as \"topk(0.01) | value:qsgd(7)\"")
      ->required();
  verb.add_option("--tensor", arguments->tensor,
                  "the tensor of a safetensors file")
      ->type_name("FILE:NAME");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { inspect(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_inspect_codec(cli::VerbRegistry& verbs) {
  verbs.add({.name = "inspect codec",
             .summary = "Say what a pipeline of codecs makes of a tensor",
             .order = 10,
             .add = cli::add_inspect_codec});
}

}  // namespace weft
