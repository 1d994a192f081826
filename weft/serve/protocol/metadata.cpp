#include "weft/serve/protocol/metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "weft/data/table.h"
#include "weft/serve/protocol/datatype.h"
#include "weft/serve/server.h"
#include "weft/tensor/symbol.h"
#include "weft/train/model_in_use.h"

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

bool is_image(const Feature& feature) {
  return feature.type.dtype == DType::kU8 && feature.type.shape.rank() == 3;
}

Json parameters_of(const ServedModel& model) {
  Json json;
  if (model.alone_because()) {
    json["batch"] = *model.alone_because();
  } else {
    json["batch"] = model.most_rows();
  }
  if (model.in_use() == nullptr) return json;
  const DataDescription& data = model.in_use()->description();
  if (!data.classes().empty()) json["classes"] = data.classes();
  const Feature& feature = data.features().front();
  if (data.table() != nullptr) {
    json["input"] = "row";
    Json& columns = json["columns"] = Json::array();
    for (const TableColumn& column : data.table()->columns.columns()) {
      columns.push_back(column.name);
    }
  } else if (is_image(feature)) {
    json["input"] = "image";
    json["image"] = protocol_shape(feature.type.shape);
  } else {
    json["input"] = "text";
  }
  return json;
}

}  // namespace

std::vector<std::int64_t> protocol_shape(const Shape& shape) {
  std::vector<std::int64_t> dims(shape.begin(), shape.end());
  std::ranges::replace_if(dims, is_symbolic, -1);
  return dims;
}

std::string metadata_json(const ServedModel& model,
                          const std::vector<std::string>& versions) {
  const Json json{{"name", model.name()},
                  {"versions", versions},
                  {"platform", kPlatform},
                  {"inputs", json_of(model.inputs())},
                  {"outputs", json_of(model.outputs())},
                  {"parameters", parameters_of(model)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::serve
