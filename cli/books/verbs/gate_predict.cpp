// weft gate predict: what a model says of a gate's points, as the table that
// weft gate submit takes.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/gate/id_table.h"
#include "weft/gate/points.h"

namespace weft::cli {
namespace {

struct GatePredictArguments {
  std::string file;
  std::string model;
  std::string output;
};

void gate_predict(const GatePredictArguments& arguments) {
  const auto points = open_points(load_gate_file(arguments.file));
  write_file(arguments.output,
             id_table_text(kPredictionColumn, points->ids(),
                           predictions_for(*points, arguments.model)));
}

void add_gate_predict(CLI::App& verb) {
  auto arguments = std::make_shared<GatePredictArguments>();
  verb.add_option("GATE", arguments->file, "a gate file")->required();
  verb.add_option("MODEL", arguments->model,
                  "what weft export wrote, a checkpoint, or the folder of a "
                  "run")
      ->required();
  verb.add_option("-o,--output", arguments->output, "a table of CSV")
      ->type_name("FILE")
      ->required();
  verb.callback([arguments] { gate_predict(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_predict(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate predict",
             .summary = "Write what a model says of a gate's points",
             .order = 25,
             .add = cli::add_gate_predict});
}

}  // namespace weft
