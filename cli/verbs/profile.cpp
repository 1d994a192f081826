// weft profile FILE: what a trace of a run comes to.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/runtime/profile_totals.h"
#include "weft/runtime/trace_file.h"
#include "weft/train/tensorboard/xspace.h"

namespace weft::cli {
namespace {

struct ProfileArguments {
  std::string file;
  std::string board;
  std::size_t most = 20;
  bool as_json = false;
};

Json to_json(const std::vector<SpanTotal>& totals, const MachineRoof& roof) {
  Json all = Json::array();
  for (const SpanTotal& total : totals) {
    all.push_back({{"name", total.name},
                   {"category", total.category},
                   {"kernel", total.detail},
                   {"calls", total.calls},
                   {"seconds", total.seconds},
                   {"flops", total.flops},
                   {"bytes", total.bytes},
                   {"of_roof", share_of_roof(total, roof)}});
  }
  return all;
}

void show_profile(const ProfileArguments& arguments) {
  const auto events = read_trace(arguments.file);
  if (!arguments.board.empty()) {
    const std::filesystem::path file(arguments.file);
    fmt::print(
        "{}\n",
        write_profile(arguments.board, file.stem().string(), events).string());
    return;
  }
  const ProfileTotals totals = totals_of(events);
  const MachineRoof& roof = machine_roof();
  if (!arguments.as_json) {
    fmt::print("{}", profile_text(totals, roof, arguments.most));
    return;
  }
  print_json({{"seconds", totals.seconds},
              {"spans", to_json(totals.spans, roof)},
              {"messages", to_json(totals.messages, roof)},
              {"most_bytes", totals.most_bytes},
              {"arena_bytes", totals.arena_bytes},
              {"roof",
               {{"flops_per_second", roof.flops_per_second},
                {"bytes_per_second", roof.bytes_per_second}}}});
}

void add_profile(CLI::App& verb) {
  auto arguments = std::make_shared<ProfileArguments>();
  verb.add_option("FILE", arguments->file,
                  "what --profile, trace.file or weft.profile() wrote")
      ->required();
  verb.add_option("--tensorboard", arguments->board,
                  "write it for TensorBoard's profile plugin (pip install "
                  "xprof), below the folder that --logdir names");
  verb.add_option("--most", arguments->most, "kernels that are shown")
      ->capture_default_str();
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { show_profile(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_profile(cli::VerbRegistry& verbs) {
  verbs.add({.name = "profile",
             .summary = "Say where the time of a recorded run went",
             .order = 57,
             .add = cli::add_profile});
}

}  // namespace weft
