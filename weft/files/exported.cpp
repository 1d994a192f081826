#include "weft/files/exported.h"

#include <nlohmann/json.hpp>

#include "weft/files/safetensors.h"
#include "weft/graph/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGraphKey = "weft.graph";
constexpr const char* kFunctionKey = "weft.function";
constexpr int kFunctionFormat = 1;

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

const std::string& text_at(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    throw Error(ErrorCode::kDataLoss, file.path().string(),
                "there is no function in it: its metadata has no '{}'", key);
  }
  return found->second;
}

Graph read_graph(const SafetensorsFile& file) {
  try {
    return parse_graph(text_at(file, kGraphKey), file.path().string());
  } catch (const Error& error) {
    // The parser takes bad text for its caller's mistake. Here the text comes
    // from a file, and the caller has done nothing wrong.
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    throw Error(ErrorCode::kDataLoss, file.path().string(), "damaged graph: {}",
                error.what());
  }
}

}  // namespace

void export_function(const std::filesystem::path& path,
                     const GraphFunction& function, const TextMetadata& more) {
  const std::string& name = function.function().name();
  refuse_host_code(function.graph());
  std::vector<NamedTensor> tensors;
  Json hidden = Json::array();
  for (const Hidden& each : function.hidden()) {
    // Variables of two layers may have one name.
    const std::string tensor = fmt::format(
        "{}.{}", tensors.size(), each.name.empty() ? "captured" : each.name);
    hidden.push_back({{"tensor", tensor}, {"kind", kind_of(each)}});
    tensors.push_back({tensor, value_of(each, name)});
  }
  const Json info{{"format", kFunctionFormat},
                  {"entry", name},
                  {"hidden", std::move(hidden)}};
  TextMetadata metadata = more;
  metadata[kGraphKey] = to_string(function.graph());
  metadata[kFunctionKey] = info.dump();
  write_safetensors(path, tensors, metadata);
}

bool is_exported_function(const std::filesystem::path& path) {
  try {
    return SafetensorsFile(path).metadata().contains(kFunctionKey);
  } catch (const Error&) {
    // What is no file of tensors is no function either, and this only asks.
    return false;
  }
}

ExportedInfo parse_exported_info(std::string_view text,
                                 std::string_view where) {
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kFunctionFormat) {
      throw Error(ErrorCode::kUnsupported, where,
                  "another format of functions than {}", kFunctionFormat);
    }
    ExportedInfo info;
    info.entry = json.at("entry");
    for (const Json& each : json.at("hidden")) {
      const std::string kind = each.at("kind");
      if (kind != "constant" && kind != "variable" && kind != "assigned") {
        throw Error(ErrorCode::kDataLoss, where,
                    "damaged function: there is no kind '{}'", kind);
      }
      info.hidden.push_back(
          {each.at("tensor"), kind != "constant", kind == "assigned"});
    }
    return info;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kDataLoss, where, "damaged function: {}",
                error.what());
  }
}

ExportedFunction::ExportedFunction(const std::filesystem::path& path,
                                   TaggedOptions tagged) {
  const SafetensorsFile file(path);
  const auto damaged = [&](std::string_view what) {
    return Error(ErrorCode::kDataLoss, path.string(), "damaged function: {}",
                 what);
  };
  const ExportedInfo info =
      parse_exported_info(text_at(file, kFunctionKey), path.string());
  Graph graph = read_graph(file);
  const Function* entry = graph.find(info.entry);
  if (entry == nullptr) throw damaged("its entry is missing");
  const auto& parameters = entry->parameters();
  if (info.hidden.size() > parameters.size()) throw damaged("too much hidden");
  // The check above keeps this difference from wrapping around.
  const std::size_t count = parameters.size() - info.hidden.size();
  for (std::size_t i = 0; i < count; ++i) {
    arguments_.push_back(
        {entry->value(parameters[i]).name, entry->type(parameters[i])});
  }
  std::vector<Hidden> hidden;
  ExecutableOptions options;
  options.tagged = std::move(tagged);
  std::size_t result = entry->results().size();
  // What variables are assigned are the last results. With more of them than
  // results, the number wraps around and fails the check below.
  for (const ExportedHidden& each : info.hidden) result -= each.is_assigned;
  for (std::size_t i = 0; i < info.hidden.size(); ++i) {
    const ExportedHidden& each = info.hidden[i];
    const TensorType& type = entry->type(parameters[count + i]);
    const SafetensorsEntry* stored = file.find(each.tensor);
    if (stored == nullptr || stored->type != type) {
      throw damaged("'" + each.tensor + "' is no " + to_string(type));
    }
    // The metadata and the graph are two texts of a file, and may be damaged
    // apart from each other.
    if (each.is_assigned && (result >= entry->results().size() ||
                             entry->type(entry->results()[result++]) != type)) {
      throw damaged("'" + each.tensor + "' is assigned something else");
    }
    const Tensor value = file.read(*stored);
    // Nobody else has what is read here: it changes only by being assigned.
    if (!each.is_assigned) options.frozen.emplace_back(count + i, value);
    if (!each.is_variable) {
      hidden.push_back(Hidden::captured(value));
      continue;
    }
    // The function refers to its variables weakly, so they are kept here.
    variables_.emplace_back(value, VariableOptions{each.tensor});
    hidden.push_back(Hidden::of(variables_.back().state()));
    hidden.back().is_assigned = each.is_assigned;
  }
  function_ = std::make_unique<GraphFunction>(
      std::move(graph), info.entry, std::move(hidden), std::move(options));
}

std::vector<TensorType> ExportedFunction::result_types() const {
  const Function& function = function_->function();
  std::vector<TensorType> types;
  // What variables are assigned comes behind, and is kept.
  for (std::size_t i = 0; i < function_->result_count(); ++i) {
    types.push_back(function.type(function.results()[i]));
  }
  return types;
}

void ExportedFunction::check_count(const std::vector<Tensor>& arguments) const {
  if (arguments.size() == arguments_.size()) return;
  throw Error(ErrorCode::kInvalidArgument, "@" + function_->function().name(),
              "takes {} arguments, got {}", arguments_.size(),
              arguments.size());
}

std::vector<Tensor> ExportedFunction::run(
    const std::vector<Tensor>& arguments) {
  check_count(arguments);
  const std::vector<Value> values(arguments.begin(), arguments.end());
  std::vector<Tensor> results;
  for (const Value& result : function_->call(values)) {
    results.push_back(result.tensor());
  }
  return results;
}

}  // namespace weft
