#include "weft/graph/location.h"

#include <fmt/core.h>
#include <string_view>

namespace weft {
namespace {

// The path is kept as text, as it is needed with every node: entering a layer
// appends to it, and leaving cuts it off.
thread_local std::string layer_path;

std::string_view base_name(std::string_view path) {
  const auto slash = path.find_last_of('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

// "int f(double)::<lambda(…)>" is more than a person wants: keep the name.
std::string_view short_name(std::string_view signature) {
  const auto open = signature.find('(');
  std::string_view name = signature.substr(0, open);
  const auto space = name.find_last_of(' ');
  return space == name.npos ? name : name.substr(space + 1);
}

}  // namespace

Location::Location(const std::source_location& where)
    : file(where.file_name()),
      line(where.line()),
      function(where.function_name()) {}

std::string to_string(const Location& location) {
  std::string text =
      fmt::format("{}:{}", base_name(location.file), location.line);
  if (*location.function != '\0') {
    text += fmt::format(", in {}()", short_name(location.function));
  }
  if (!location.scope.empty()) text += ", layer " + location.scope;
  return text;
}

LayerScope::LayerScope(const std::string& name)
    : outer_size_(layer_path.size()) {
  // A layer without a name adds nothing to the path.
  if (name.empty()) return;
  if (!layer_path.empty()) layer_path += '/';
  layer_path += name;
}

LayerScope::~LayerScope() { layer_path.resize(outer_size_); }

const std::string& LayerScope::current() { return layer_path; }

}  // namespace weft
