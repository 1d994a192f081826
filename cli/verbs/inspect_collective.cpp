// weft inspect collective TOPOLOGY: which all-reduce a network is given.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/comm/collective/chooser.h"
#include "weft/comm/sparse/chooser.h"

namespace weft::cli {
namespace {

struct InspectCollectiveArguments {
  std::string topology;
  std::uint64_t bytes = 0;
  std::uint64_t items = 0;  // in a sparse vector; 0: a dense one
  bool as_json = false;
};

// At the lower end latency decides, at the upper one bandwidth; steps of four
// show where the choice changes.
constexpr std::size_t kLeastBytes = std::size_t{1} << 10;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

// The choice for each size, when none is given.
void print_choices(AllReduceChooser& chooser) {
  fmt::print("all-reduce over {}\n\n{:>10} {:>14}  algorithm\n",
             to_string(chooser.topology()), "of", "predicted ms");
  for (std::size_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 4) {
    const AllReduce& choice = chooser.choose(bytes);
    const double seconds =
        choice.seconds(chooser.topology(), static_cast<double>(bytes));
    fmt::print("{:>10} {:>14.4g}  {}\n", bytes_text(static_cast<double>(bytes)),
               seconds * 1e3, choice.text());
  }
  fmt::print("\n--bytes SIZE compares all algorithms at one size\n");
}

Json size_report(AllReduceChooser& chooser, std::size_t bytes) {
  Json candidates = Json::array();
  for (const auto& candidate : chooser.candidates(bytes)) {
    Json entry = {{"algorithm", candidate.algorithm.text()}};
    // One that declines has a reason, and no time.
    if (!candidate.declined) {
      entry["seconds"] = number(candidate.seconds);
    } else {
      entry["declined"] = candidate.declined->because;
    }
    candidates.push_back(std::move(entry));
  }
  return {{"bytes", bytes},
          {"choice", chooser.choose(bytes).text()},
          {"candidates", candidates}};
}

void print_report(AllReduceChooser& chooser, std::uint64_t bytes) {
  Json sizes = Json::array();
  if (bytes > 0) {
    sizes.push_back(size_report(chooser, bytes));
  } else {
    for (std::size_t each = kLeastBytes; each <= kMostBytes; each *= 4) {
      sizes.push_back(size_report(chooser, each));
    }
  }
  print_json({{"topology", to_string(chooser.topology())}, {"sizes", sizes}});
}

// The values are f32, and each rank contributes some of them, nobody knows
// where.
void print_sparse(const Topology& topology,
                  const InspectCollectiveArguments& arguments) {
  // --bytes is the size of the vector, not of what is sent.
  const std::uint64_t values = arguments.bytes / sizeof(float);
  if (arguments.items > values) {
    throw Error(ErrorCode::kInvalidArgument, "--items",
                "{} are more than the {} values of {} bytes", arguments.items,
                values, arguments.bytes)
        .hint("--bytes is the size of the whole vector as f32");
  }
  const SparseChooser chooser({DType::kF32, values}, topology.ranks(),
                              flat_level(topology));
  fmt::print(
      "{}",
      chooser.choose_blindly(static_cast<double>(arguments.items)).explanation);
}

void inspect(const InspectCollectiveArguments& arguments) {
  if (arguments.items > 0) {
    return print_sparse(parse_topology(arguments.topology), arguments);
  }
  AllReduceChooser chooser(parse_topology(arguments.topology));
  if (arguments.as_json) return print_report(chooser, arguments.bytes);
  if (arguments.bytes == 0) return print_choices(chooser);
  fmt::print("{}\ntaken: {}\n", chooser.explain(arguments.bytes),
             chooser.choose(arguments.bytes).text());
}

void add_inspect_collective(CLI::App& verb) {
  auto arguments = std::make_shared<InspectCollectiveArguments>();
  verb.add_option("TOPOLOGY", arguments->topology,
                  "such as \"4@50us,100Mbit/s\" or "
                  "\"4@5us,35GB/s x 64@5us,10GB/s\"")
      ->required();
  verb.add_option("--bytes", arguments->bytes, "of the vector, such as 1MB")
      ->transform(CLI::AsSizeValue(true))
      ->type_name("SIZE");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.add_option("--items", arguments->items,
                  "sparse sums of so many values of each rank instead, as "
                  "topk sends them")
      ->needs("--bytes")
      ->excludes("--json");
  verb.callback([arguments] { inspect(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_inspect_collective(cli::VerbRegistry& verbs) {
  verbs.add({.name = "inspect collective",
             .summary = "Say which all-reduce a network is given, and why",
             .order = 20,
             .add = cli::add_inspect_collective});
}

}  // namespace weft
