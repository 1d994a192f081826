// weft losses RUN: the loss of each epoch, as columns that other programs draw.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/train/run_list.h"

namespace weft {
namespace {

void print_losses(const std::string& folder) {
  const TrainedRun run = read_run(folder);
  fmt::print("# epoch, loss in training, on held-out data\n");
  for (const EpochMetrics& epoch : run.epochs) {
    // An epoch that was not measured has NaN, which plotters leave out.
    fmt::print("{} {:.6g} {:.6g}\n", epoch.epoch, epoch.train.loss(),
               epoch.held_out.loss());
  }
}

void add_losses(CLI::App& verb) {
  // CLI11 writes to it when this function has returned.
  auto folder = std::make_shared<std::string>();
  verb.add_option("RUN", *folder, "the folder of a run")->required();
  verb.callback([folder] { print_losses(*folder); });
}

}  // namespace

void register_verb_losses(cli::VerbRegistry& verbs) {
  verbs.add({.name = "losses",
             .summary = "Print the losses of a run as columns",
             .add = add_losses});
}

}  // namespace weft
