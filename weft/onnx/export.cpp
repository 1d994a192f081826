#include "weft/compiler/dead_nodes.h"
#include "weft/onnx/exporter.h"
#include "weft/onnx/onnx.h"

namespace weft {
namespace {

// The value of what is no argument, which never changes.
Tensor fixed_value(const Hidden& hidden, const std::string& where) {
  if (hidden.kind == Hidden::Kind::kRandomKey) {
    throw Error(ErrorCode::kUnsupported, where,
                "the function draws with the random key around it, and ONNX's "
                "models have none")
        .hint("switch training off by model.train(false)");
  }
  if (hidden.is_assigned) {
    throw Error(ErrorCode::kUnsupported, where,
                "the function assigns the variable '{}', and ONNX's models "
                "keep nothing from run to run",
                hidden.name)
        .hint("take the value as an argument, and return the new one");
  }
  return hidden.current(where).tensor();
}

}  // namespace

void export_onnx(const std::filesystem::path& path,
                 const GraphFunction& function,
                 const OnnxExportOptions& options) {
  const std::string where = path.string();
  const Function entry = eliminate_dead_nodes(function.function());
  onnx::Exporter exporter(function.graph());
  std::vector<onnx::ExportedValue> arguments;
  const std::size_t count = function.argument_count();
  for (std::size_t i = 0; i < entry.parameters().size(); ++i) {
    const ValueId id = entry.parameters()[i];
    const TensorType& type = entry.type(id);
    if (i >= count) {
      const Hidden& hidden = function.hidden()[i - count];
      arguments.push_back({.type = type, .known = fixed_value(hidden, where)});
      continue;
    }
    const std::string& name = entry.value(id).name;
    arguments.push_back(exporter.add_input(
        name.empty() ? fmt::format("input{}", i) : name, type));
  }
  auto results = exporter.run(entry, std::move(arguments));
  for (std::size_t i = 0; i < function.result_count(); ++i) {
    exporter.add_output(fmt::format("result{}", i), results[i]);
  }
  onnx::write_model(path, exporter.finish(entry.name(), where),
                    options.external_data);
}

}  // namespace weft
