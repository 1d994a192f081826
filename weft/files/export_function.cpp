#include <nlohmann/json.hpp>

#include "weft/files/exported.h"
#include "weft/files/exported_format.h"
#include "weft/graph/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// A callback is a closure of the running program, which no text can name. It is
// refused before a file is begun.
void refuse_host_code(const Graph& graph) {
  for (const Function& function : graph.functions) {
    for (const Node& node : function.nodes()) {
      if (!node.op->has(kHost)) continue;
      throw Error(ErrorCode::kUnsupported, "@" + function.name(),
                  "calls code of the program, which no file can hold")
          .detail("node: " + to_string(function, node));
    }
  }
}

Tensor value_of(const Hidden& hidden, const std::string& function) {
  if (hidden.kind == Hidden::Kind::kRandomKey) {
    throw Error(ErrorCode::kUnsupported, "@" + function,
                "draws with the random key around it, which no file can hold")
        .hint(
            "switch training off by model.train(false), or take the key as an "
            "argument and open its scope inside");
  }
  if (!hidden.is_variable()) {
    // Such a value exists only while the outer function runs.
    if (hidden.value.is_staged()) {
      throw Error(ErrorCode::kUnsupported, "@" + function,
                  "captured a value of a function around it")
          .hint("export the outer function");
    }
    return hidden.value.tensor();
  }
  const VariableRef variable = hidden.variable.lock();
  if (variable == nullptr || !variable->value.is_defined()) {
    throw Error(ErrorCode::kInvalidArgument, "@" + function,
                "the variable '{}' has no value to save", hidden.name);
  }
  return variable->value;
}

const char* kind_of(const Hidden& hidden) {
  if (!hidden.is_variable()) return "constant";
  return hidden.is_assigned ? "assigned" : "variable";
}

// The tensors of a file, each of which functions may share.
class Tensors {
 public:
  // The name that a hidden value of `function` has in the file.
  std::string add(const Hidden& hidden, const std::string& function) {
    const Tensor value = value_of(hidden, function);
    for (const NamedTensor& known : all_) {
      // What one function assigns, others must not see.
      if (!hidden.is_assigned && known.tensor.raw() == value.raw() &&
          known.tensor.type() == value.type() && value.bytes() > 0) {
        return known.name;
      }
    }
    // Variables of two layers may have one name.
    all_.push_back({fmt::format("{}.{}", all_.size(),
                                hidden.name.empty() ? "captured" : hidden.name),
                    value});
    return all_.back().name;
  }

  const std::vector<NamedTensor>& all() const { return all_; }

 private:
  std::vector<NamedTensor> all_;
};

void add_function(std::string_view name, const GraphFunction& function,
                  Tensors& tensors, TextMetadata& metadata) {
  const std::string& entry = function.function().name();
  Json hidden = Json::array();
  for (const Hidden& each : function.hidden()) {
    hidden.push_back(
        {{"tensor", tensors.add(each, entry)}, {"kind", kind_of(each)}});
  }
  metadata[graph_key(name)] = to_string(function.graph());
  metadata[function_key(name)] = Json{
      {"format", kFunctionFormat},
      {"entry", entry},
      {"hidden", std::move(hidden)}}.dump();
}

}  // namespace

void export_functions(const std::filesystem::path& path,
                      const FunctionsByName& functions,
                      const TextMetadata& more) {
  WEFT_CHECK(functions.contains(kMainFunction), "a file has a main function");
  // All are looked at before a file is begun.
  for (const auto& [name, function] : functions) {
    refuse_host_code(function->graph());
  }
  Tensors tensors;
  TextMetadata metadata = more;
  for (const auto& [name, function] : functions) {
    add_function(name, *function, tensors, metadata);
  }
  FileChecksum sum;
  sum.add(metadata);
  for (const auto& [name, tensor] : tensors.all()) {
    sum.add(name, tensor.type(),
            {static_cast<const std::uint8_t*>(tensor.raw()), tensor.bytes()});
  }
  metadata[kChecksumKey] = sum.text();
  write_safetensors(path, tensors.all(), metadata);
}

void export_function(const std::filesystem::path& path,
                     const GraphFunction& function, const TextMetadata& more) {
  export_functions(path, {{kMainFunction, &function}}, more);
}

}  // namespace weft
