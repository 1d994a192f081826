#include "weft/files/exported.h"

#include <nlohmann/json.hpp>

#include "weft/files/exported_format.h"
#include "weft/graph/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Graph read_graph(const std::string& text, const std::string& where) {
  try {
    return parse_graph(text, where);
  } catch (const Error& error) {
    // The parser takes bad text for its caller's mistake. Here the text comes
    // from a file, and the caller has done nothing wrong.
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    throw Error(ErrorCode::kDataLoss, where, "damaged graph: {}", error.what());
  }
}

void check_sum(const SafetensorsFile& file) {
  // Files of an older Weft have none.
  const auto found = file.metadata().find(kChecksumKey);
  if (found == file.metadata().end()) return;
  FileChecksum sum;
  sum.add(file.metadata());
  for (const SafetensorsEntry& entry : file.entries()) {
    const Tensor tensor = file.map(entry);
    sum.add(entry.name, entry.type,
            {static_cast<const std::uint8_t*>(tensor.raw()), tensor.bytes()});
  }
  if (sum.text() == found->second) return;
  throw Error(ErrorCode::kDataLoss, file.path().string(),
              "damaged: its checksum is {}, and {} is written in it",
              sum.text(), found->second)
      .hint("get the file again, or export the model anew");
}

}  // namespace

bool is_exported_function(const std::filesystem::path& path) {
  try {
    return SafetensorsFile(path).metadata().contains(
        function_key(kMainFunction));
  } catch (const Error&) {
    // What is no file of tensors is no function either, and this only asks.
    return false;
  }
}

ExportedInfo parse_exported_info(std::string_view text,
                                 std::string_view where) {
  try {
    const Json json = Json::parse(text);
    ExportedInfo info;
    info.format = json.at("format");
    if (info.format < 1 || info.format > kFunctionFormat) {
      throw Error(ErrorCode::kUnsupported, where,
                  "format {} of functions, where 1 to {} are known",
                  info.format, kFunctionFormat);
    }
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

ExportedFile::ExportedFile(const std::filesystem::path& path) : file_(path) {
  check_sum(file_);
  if (!has(kMainFunction)) {
    throw Error(ErrorCode::kDataLoss, path.string(),
                "there is no function in it: its metadata has no '{}'",
                function_key(kMainFunction));
  }
}

bool ExportedFile::has(std::string_view function) const {
  return file_.metadata().contains(function_key(function));
}

const std::string& ExportedFile::text(const std::string& key) const {
  const auto found = file_.metadata().find(key);
  if (found == file_.metadata().end()) {
    throw Error(ErrorCode::kDataLoss, path().string(),
                "damaged function: its metadata has no '{}'", key);
  }
  return found->second;
}

TextMetadata texts_beside_functions(const TextMetadata& metadata) {
  TextMetadata rest;
  for (const auto& [key, text] : metadata) {
    const bool is_of_function = key == kChecksumKey ||
                                key.starts_with(graph_key(kMainFunction)) ||
                                key.starts_with(function_key(kMainFunction));
    if (!is_of_function) rest[key] = text;
  }
  return rest;
}

ExportedFunction::ExportedFunction(const std::filesystem::path& path,
                                   ExecutableOptions options)
    : ExportedFunction(ExportedFile(path), kMainFunction, std::move(options)) {}

ExportedFunction::ExportedFunction(const ExportedFile& file,
                                   std::string_view name,
                                   ExecutableOptions options) {
  const std::string path = file.path().string();
  const auto damaged = [&](std::string_view what) {
    return Error(ErrorCode::kDataLoss, path, "damaged function: {}", what);
  };
  const ExportedInfo info =
      parse_exported_info(file.text(function_key(name)), path);
  if (info.format > 1 && !file.metadata().contains(kChecksumKey)) {
    throw damaged("its checksum is missing");
  }
  Graph graph = read_graph(file.text(graph_key(name)), path);
  const Function* entry = graph.find(info.entry);
  if (entry == nullptr) throw damaged("its entry is missing");
  const auto& parameters = entry->parameters();
  if (info.hidden.size() > parameters.size()) throw damaged("too much hidden");
  // The check above keeps this difference from wrapping around.
  const std::size_t count = parameters.size() - info.hidden.size();
  add_arguments(*entry, count);
  std::vector<Hidden> hidden;
  std::size_t result = entry->results().size();
  // What variables are assigned are the last results. With more of them than
  // results, the number wraps around and fails the check below.
  for (const ExportedHidden& each : info.hidden) result -= each.is_assigned;
  for (std::size_t i = 0; i < info.hidden.size(); ++i) {
    const ExportedHidden& each = info.hidden[i];
    const TensorType& type = entry->type(parameters[count + i]);
    const SafetensorsEntry* stored = file.tensors().find(each.tensor);
    if (stored == nullptr || stored->type != type) {
      throw damaged("'" + each.tensor + "' is no " + to_string(type));
    }
    // The metadata and the graph are two texts of a file, and may be damaged
    // apart from each other.
    if (each.is_assigned && (result >= entry->results().size() ||
                             entry->type(entry->results()[result++]) != type)) {
      throw damaged("'" + each.tensor + "' is assigned something else");
    }
    // What is assigned is overwritten, and the file must not be.
    const Tensor value = each.is_assigned ? file.tensors().read(*stored)
                                          : file.tensors().map(*stored);
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
  function_ = std::make_shared<GraphFunction>(
      std::move(graph), info.entry, std::move(hidden), std::move(options));
}

ExportedFunction::ExportedFunction(GraphFunctionRef function)
    : function_(std::move(function)) {
  add_arguments(function_->function(), function_->argument_count());
}

void ExportedFunction::add_arguments(const Function& entry, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const ValueId id = entry.parameters()[i];
    arguments_.push_back({entry.value(id).name, entry.type(id)});
  }
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

void ExportedFunction::prepare(const std::vector<Tensor>& arguments,
                               std::size_t copies) {
  check_count(arguments);
  const std::vector<Value> values(arguments.begin(), arguments.end());
  function_->prepare(values, copies);
}

}  // namespace weft
