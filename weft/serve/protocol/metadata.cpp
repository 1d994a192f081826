#include "weft/serve/protocol/metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "weft/serve/protocol/datatype.h"
#include "weft/serve/server.h"
#include "weft/tensor/symbol.h"

namespace weft::serve {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<Port>& ports) {
  Json list = Json::array();
  for (const Port& port : ports) {
    list.push_back({{"name", port.name},
                    {"datatype", protocol_name(port.type.dtype)},
                    {"shape", protocol_shape(port.type.shape)}});
  }
  return list;
}

}  // namespace

std::vector<std::int64_t> protocol_shape(const Shape& shape) {
  std::vector<std::int64_t> dims(shape.begin(), shape.end());
  std::ranges::replace_if(dims, is_symbolic, -1);
  return dims;
}

std::string metadata_json(const ServedModel& model) {
  const Json json{{"name", model.name()},
                  {"versions", {model.version()}},
                  {"platform", kPlatform},
                  {"inputs", json_of(model.inputs())},
                  {"outputs", json_of(model.outputs())}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::serve
