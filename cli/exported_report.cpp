#include "cli/exported_report.h"

#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"

#include "weft/files/exported.h"
#include "weft/train/model_in_use.h"

namespace weft::cli {
namespace {

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

}  // namespace

void print_exported(const std::string& file, bool as_json) {
  const ExportedFunction function(file);
  if (as_json) return print_json(to_json(function, file));
  fmt::print("{}: {}\n", file, signature_of(function));
  if (describes_model(ExportedFile(file))) {
    fmt::print("next: weft predict {0} …, weft serve {0}\n", shell_word(file));
    return;
  }
  fmt::print("next: weft run {}", shell_word(file));
  if (!function.arguments().empty()) {
    fmt::print(" --input {}=…", function.arguments().front().name);
  }
  fmt::print("\n");
}

void print_onnx(const std::string& file, const ExportedFunction& function,
                bool as_json) {
  if (as_json) return print_json(to_json(function, file));
  fmt::print("{}: {}\n", file, signature_of(function));
}

}  // namespace weft::cli
