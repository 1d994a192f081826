// weft export MODEL -o FILE: a trained model as a function by itself, or as one
// of ONNX.
#include <CLI/CLI.hpp>

#include "cli/exported_report.h"
#include "cli/serving.h"
#include "cli/temporary_export.h"
#include "cli/verb.h"

#include "weft/files/exported.h"
#include "weft/onnx/onnx.h"

namespace weft::cli {
namespace {

struct ExportArguments {
  std::string checkpoint;
  std::string file;
  std::string data;
  ServingArguments serving;
  bool has_external_data = false;
  bool as_json = false;
};

void export_to_onnx(const ExportArguments& arguments,
                    const std::filesystem::path& exported) {
  const ExportedFunction function(exported);
  export_onnx(arguments.file, function.function(),
              {.external_data = arguments.has_external_data});
  print_onnx(arguments.file, function, arguments.as_json);
}

void export_model(const ExportArguments& arguments) {
  if (is_onnx_file(arguments.file)) {
    if (is_exported_function(arguments.checkpoint)) {
      return export_to_onnx(arguments, arguments.checkpoint);
    }
    const TemporaryExport exported(arguments.checkpoint, arguments.file,
                                   arguments.data, arguments.serving.weights());
    return export_to_onnx(arguments, exported.file());
  }
  if (arguments.has_external_data) {
    throw Error(ErrorCode::kInvalidArgument, "--external-data",
                "is for models of ONNX, whose names end in .onnx");
  }
  export_trained(arguments.checkpoint, arguments.file, arguments.data,
                 arguments.serving.weights());
  print_exported(arguments.file, arguments.as_json);
}

void add_export(CLI::App& verb) {
  auto arguments = std::make_shared<ExportArguments>();
  verb.add_option("MODEL", arguments->checkpoint,
                  "a .safetensors file, the folder of a run, or, for ONNX, an "
                  "exported function")
      ->required();
  verb.add_option("-o,--output", arguments->file,
                  "what is written: a file for weft run, or a model of ONNX "
                  "where its name ends in .onnx")
      ->type_name("FILE")
      ->required();
  verb.add_option("--data", arguments->data, "folder of the data")
      ->type_name("DIR");
  verb.add_flag("--external-data", arguments->has_external_data,
                "put the weights of an ONNX model beside it, into "
                "FILE.CHECKSUM.data");
  add_serving_options(verb, arguments->serving);
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { export_model(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_export(cli::VerbRegistry& verbs) {
  verbs.add(
      {.name = "export",
       .summary = "Put a trained model into a file by itself, or into ONNX",
       .order = 35,
       .add = cli::add_export});
}

}  // namespace weft
