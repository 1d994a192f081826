// weft export CHECKPOINT -o FILE: a trained model as a function by itself.
#include <CLI/CLI.hpp>

#include "cli/exported_report.h"
#include "cli/serving.h"
#include "cli/verb.h"

#include "weft/train/trained_model.h"

namespace weft::cli {
namespace {

struct ExportArguments {
  std::string checkpoint;
  std::string file;
  std::string data;
  ServingArguments serving;
  bool as_json = false;
};

void export_model(const ExportArguments& arguments) {
  export_trained(arguments.checkpoint, arguments.file, arguments.data,
                 arguments.serving.weights());
  print_exported(arguments.file, arguments.as_json);
}

void add_export(CLI::App& verb) {
  auto arguments = std::make_shared<ExportArguments>();
  verb.add_option("CHECKPOINT", arguments->checkpoint,
                  "a .safetensors file, or the folder of a run")
      ->required();
  verb.add_option("-o,--output", arguments->file,
                  "what is written: a file for weft run")
      ->type_name("FILE")
      ->required();
  verb.add_option("--data", arguments->data, "folder of the data")
      ->type_name("DIR");
  add_serving_options(verb, arguments->serving);
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { export_model(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_export(cli::VerbRegistry& verbs) {
  verbs.add({.name = "export",
             .summary = "Put a trained model into a file by itself",
             .order = 35,
             .add = cli::add_export});
}

}  // namespace weft
