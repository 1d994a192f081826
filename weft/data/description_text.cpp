#include "weft/data/description_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weft/base/utf8.h"
#include "weft/data/table.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::size_t kMostFeatures = 64;

Error damaged(std::string_view where, std::string_view what) {
  return {ErrorCode::kDataLoss, where, "damaged description of data: {}", what};
}

// A text; its bytes where it is no UTF-8, which JSON has not: the path of data
// may be none, and a single byte of a text that is read byte by byte.
Json json_of(const std::string& text) {
  if (is_utf8(text)) return text;
  return std::vector<std::uint8_t>(text.begin(), text.end());
}

Json json_of(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(json_of(text));
  return json;
}

Json json_of(const Feature& feature) {
  const auto dims = feature.type.shape.dims();
  return {{"name", json_of(feature.name)},
          {"dtype", to_string(feature.type.dtype)},
          {"dims", std::vector<Dim>(dims.begin(), dims.end())},
          {"varying", feature.varying}};
}

Json json_of(const TableColumn& column) {
  return {{"name", json_of(column.name)},
          {"is_category", column.is_category},
          {"is_by_content", column.is_by_content},
          {"missing", column.mean},
          {"mean", column.scale.mean},
          {"std", column.scale.std},
          {"has_indicator", column.has_indicator},
          {"categories", json_of(column.categories)}};
}

Json json_of(const TableSchema& table) {
  Json columns = Json::array();
  for (const TableColumn& column : table.columns.columns()) {
    columns.push_back(json_of(column));
  }
  return {{"columns", columns},
          {"others", json_of(table.columns.others())},
          {"labels", json_of(table.label_columns)}};
}

// Reads one text, and says where it is when something is wrong.
class DescriptionReader {
 public:
  DescriptionReader(std::string_view where) : where_(where) {}

  Feature feature(const Json& json) const {
    Feature feature;
    feature.name = text(json.at("name"));
    const auto dtype =
        dtype_from_string(json.at("dtype").get_ref<const std::string&>());
    if (!dtype) throw damaged(where_, "a feature of no dtype");
    feature.type.dtype = *dtype;
    const Json& dims = json.at("dims");
    // The axis of the batch comes in front of these.
    if (dims.size() >= Shape::kMaxRank) {
      throw damaged(where_, "a feature of too many dims");
    }
    std::int64_t size = 1;
    for (const Json& dim : dims) {
      const auto value = whole(dim);
      if (value < 1 || value > kMostElements / size) {
        throw damaged(where_, "a feature of a size that cannot be");
      }
      size *= value;
      feature.type.shape.push_back(value);
    }
    for (const Json& axis : json.at("varying")) {
      const auto value = whole(axis);
      if (value < 0 || value >= feature.type.shape.rank()) {
        throw damaged(where_, "an axis varies that is not there");
      }
      feature.varying.push_back(static_cast<int>(value));
    }
    return feature;
  }

  PixelScale pixel_scale(const Json& json,
                         const std::vector<Feature>& features) const {
    PixelScale scale{json.at("mean"), json.at("std")};
    const Shape& first = features[0].type.shape;
    const bool is_image = first.rank() == 3;
    const std::size_t channels = scale.mean.empty() || !is_image
                                     ? 0
                                     : static_cast<std::size_t>(first[2]);
    if (scale.mean.size() != channels || scale.std.size() != channels) {
      throw damaged(where_, "the scale of pixels does not fit the channels");
    }
    for (const float std : scale.std) check_scale(0, std);
    for (const float mean : scale.mean) check_scale(mean, 1);
    return scale;
  }

  NumberScale number_scale(const Json& json) const {
    const NumberScale scale{json.at("mean"), json.at("std")};
    check_scale(scale.mean, scale.std);
    return scale;
  }

  std::shared_ptr<const TableSchema> table(const Json& json,
                                           const Feature& row) const {
    std::vector<TableColumn> columns;
    for (const Json& each : json.at("columns")) {
      columns.push_back(column(each));
    }
    TableSchema schema{
        TableColumns(std::move(columns), texts(json.at("others"))),
        texts(json.at("labels"))};
    if (schema.label_columns.empty() || row.type.dtype != DType::kF32 ||
        row.type.shape != Shape{schema.columns.width()}) {
      throw damaged(where_, "the columns do not make such rows");
    }
    return std::make_shared<const TableSchema>(std::move(schema));
  }

  // As json_of() wrote it.
  std::string text(const Json& json) const {
    if (!json.is_array()) return json;
    std::string bytes;
    for (const Json& byte : json) {
      const std::int64_t value = whole(byte);
      if (value < 0 || value > 255) throw damaged(where_, "no byte of a text");
      bytes += static_cast<char>(value);
    }
    return bytes;
  }

  std::vector<std::string> texts(const Json& json) const {
    if (!json.is_array()) throw damaged(where_, "no list of texts");
    std::vector<std::string> texts;
    for (const Json& each : json) texts.push_back(text(each));
    return texts;
  }

  std::vector<std::int64_t> counts(const Json& json) const {
    std::vector<std::int64_t> counts;
    for (const Json& count : json) counts.push_back(whole(count));
    return counts;
  }

 private:
  static constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

  // nlohmann itself would convert a fraction, or a number that does not fit,
  // with undefined results.
  std::int64_t whole(const Json& json) const {
    if (!json.is_number_integer()) throw damaged(where_, "no whole number");
    if (json.is_number_unsigned() &&
        json.get<std::uint64_t>() > std::uint64_t{1} << 62) {
      throw damaged(where_, "a number that is too large");
    }
    return json.get<std::int64_t>();
  }

  void check_scale(double mean, double std) const {
    if (!std::isfinite(mean) || !std::isfinite(std) || !(std > 0)) {
      throw damaged(where_, "a scale that nothing can be scaled by");
    }
  }

  TableColumn column(const Json& json) const {
    TableColumn column{.name = text(json.at("name")),
                       .is_category = json.at("is_category"),
                       .is_by_content = json.at("is_by_content"),
                       .mean = json.at("missing"),
                       .scale = number_scale(json),
                       .has_indicator = json.at("has_indicator"),
                       .categories = texts(json.at("categories"))};
    check_scale(column.mean, 1);
    // A value is looked up among sorted ones.
    if (!std::ranges::is_sorted(column.categories)) {
      throw damaged(where_, "categories that are not sorted");
    }
    return column;
  }

  std::string_view where_;
};

class StoredDescription final : public DataDescription {
 public:
  StoredDescription(const Json& json, std::string_view where) {
    if (json.at("format") != kFormat) {
      throw Error(ErrorCode::kUnsupported, where,
                  "another format of descriptions than {}", kFormat);
    }
    const DescriptionReader reader(where);
    name_ = reader.text(json.at("name"));
    const Json& features = json.at("features");
    if (!features.is_array() || features.empty() ||
        features.size() > kMostFeatures) {
      throw damaged(where, "no features, or too many");
    }
    for (const Json& each : features) {
      features_.push_back(reader.feature(each));
    }
    classes_ = reader.texts(json.at("classes"));
    words_ = reader.texts(json.at("words"));
    pixel_scale_ = reader.pixel_scale(json.at("pixel_scale"), features_);
    target_scale_ = reader.number_scale(json.at("target_scale"));
    category_counts_ = reader.counts(json.at("category_counts"));
    lanes_ = reader.counts(Json::array({json.at("lanes")}))[0];
    if (!json.at("table").is_null()) {
      table_ = reader.table(json.at("table"), features_[0]);
    }
  }
};

}  // namespace

std::string to_json(const DataDescription& data) {
  Json features = Json::array();
  for (const Feature& feature : data.features()) {
    features.push_back(json_of(feature));
  }
  const Json json{
      {"format", kFormat},
      {"name", json_of(data.name())},
      {"features", features},
      {"classes", json_of(data.classes())},
      {"words", json_of(data.words())},
      {"pixel_scale",
       {{"mean", data.pixel_scale().mean}, {"std", data.pixel_scale().std}}},
      {"target_scale",
       {{"mean", data.target_scale().mean}, {"std", data.target_scale().std}}},
      {"category_counts", data.category_counts()},
      {"lanes", data.lanes()},
      {"table", data.table() ? json_of(*data.table()) : Json()}};
  return json.dump();
}

std::unique_ptr<const DataDescription> parse_description(
    std::string_view text, std::string_view where) {
  try {
    return std::make_unique<StoredDescription>(Json::parse(text), where);
  } catch (const nlohmann::json::exception& error) {
    throw damaged(where, error.what());
  }
}

}  // namespace weft
