// weft import MODEL.onnx -o FILE: a model of another system as a function here.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <set>

#include "cli/exported_report.h"
#include "cli/tensor_text.h"
#include "cli/verb.h"

#include "weft/files/exported.h"
#include "weft/onnx/node.h"
#include "weft/onnx/onnx.h"
#include "weft/tensor/symbol.h"

namespace weft::cli {
namespace {

struct ImportArguments {
  std::string model;
  std::string file;
  std::vector<std::string> shapes;
  std::vector<std::string> fixed;
  bool as_json = false;
};

// "1x3x224x224"; a name stands for a size that each run may choose.
Shape parse_shape(const std::string& text) {
  Shape shape;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    shape.push_back(parse_dim(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return shape;
}

void import_model(const ImportArguments& arguments) {
  OnnxImportOptions options;
  for (const auto& [name, text] : named_texts("--shape", arguments.shapes)) {
    options.shapes.emplace(name, parse_shape(text));
  }
  for (const auto& [name, text] : named_texts("--fix", arguments.fixed)) {
    options.fixed.emplace(
        name, parse_tensor(text, onnx_input_dtype(arguments.model, name)));
  }
  export_function(arguments.file, *import_onnx(arguments.model, options));
  print_exported(arguments.file, arguments.as_json);
}

// The names of the ops that are read, one a line.
void print_ops() {
  std::set<std::string> lines;
  for (const onnx::OnnxOpDef& def : onnx_registry().all()) {
    lines.insert(def.domain.empty() ? def.name : def.domain + " " + def.name);
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
}

void add_import(CLI::App& verb) {
  auto arguments = std::make_shared<ImportArguments>();
  verb.add_option("MODEL", arguments->model, "a model in ONNX's format")
      ->required();
  verb.add_option("-o,--output", arguments->file,
                  "what is written: a file for weft run")
      ->type_name("FILE")
      ->required();
  verb.add_option("--shape", arguments->shapes,
                  "the shape of an input, for what the model leaves open: "
                  "x=1x3x224x224, or x=Nx3x224x224 where N may be any")
      ->type_name("NAME=SHAPE");
  verb.add_option("--fix", arguments->fixed,
                  "an input that is always the same, as JSON: what decides "
                  "shapes must be")
      ->type_name("NAME=VALUE");
  verb.add_flag_callback(
          "--ops",
          [] {
            print_ops();
            throw CLI::Success();
          },
          "list the ops of ONNX that are read, and end")
      ->trigger_on_parse();
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { import_model(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_import(cli::VerbRegistry& verbs) {
  verbs.add({.name = "import",
             .summary = "Read a model in ONNX's format",
             .order = 34,
             .add = cli::add_import});
}

}  // namespace weft
