// weft export CHECKPOINT -o FILE: a trained model as a function by itself.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/serving.h"
#include "cli/verb.h"

#include "weft/files/exported.h"
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

Json to_json(const ExportedFunction& function, const std::string& file) {
  Json arguments = Json::array();
  for (const auto& [name, type] : function.arguments()) {
    arguments.push_back({{"name", name}, {"type", to_string(type)}});
  }
  Json results = Json::array();
  for (const TensorType& type : function.result_types()) {
    results.push_back(to_string(type));
  }
  return {{"file", file}, {"arguments", arguments}, {"results", results}};
}

std::string signature_of(const ExportedFunction& function) {
  std::string arguments;
  for (const auto& [name, type] : function.arguments()) {
    arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : ", ", name,
                             to_string(type));
  }
  std::string results;
  for (const TensorType& type : function.result_types()) {
    results += (results.empty() ? "" : ", ") + to_string(type);
  }
  return fmt::format("({}) -> {}", arguments, results);
}

void export_model(const ExportArguments& arguments) {
  export_trained(arguments.checkpoint, arguments.file, arguments.data,
                 arguments.serving.weights());
  // What is told is read from the file, so that it is known to be good.
  const ExportedFunction function(arguments.file);
  if (arguments.as_json) {
    print_json(to_json(function, arguments.file));
    return;
  }
  fmt::print("{}: {}\n", arguments.file, signature_of(function));
  fmt::print("next: weft run {} --input {}=…\n", arguments.file,
             function.arguments().front().name);
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
