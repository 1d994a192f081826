// Points that are rows of a table with a column `id`. A column `label` has what
// is true of them; a column `input`, or all others together, is what a model is
// given.
#include <set>

#include "weft/gate/id_table.h"
#include "weft/gate/points.h"

namespace weft {
namespace {

constexpr const char* kInputColumn = "input";

bool has_column(const Records& records, std::string_view name) {
  return std::ranges::count(records.names(), name) > 0;
}

std::string class_in(const nlohmann::ordered_json& answer,
                     const std::string& where) {
  const auto found = answer.find("class");
  if (found == answer.end() || !found->is_string()) {
    throw Error(ErrorCode::kUnsupported, where,
                "the model tells no class of a point")
        .hint("a file of predictions is taken from any model");
  }
  return found->get<std::string>();
}

class PointsOfTable final : public GatePoints {
 public:
  explicit PointsOfTable(const std::filesystem::path& path)
      : folder_(path.parent_path()), records_(read_records(path)) {
    const std::size_t ids = records_.column(kIdColumn);
    std::set<std::string_view> seen;
    for (std::size_t row = 0; row < records_.rows(); ++row) {
      const std::string_view id = records_.field(row, ids);
      if (!seen.insert(id).second) {
        throw Error(ErrorCode::kDataLoss, records_.place(row),
                    "point '{}' comes twice", shown(id));
      }
      ids_.emplace_back(id);
    }
    if (has_column(records_, kLabelColumn)) {
      labels_ = IdTable(records_, kLabelColumn).in_order(ids_);
    }
  }

  std::vector<std::string> predict(ModelInUse& model) const override {
    const auto predictor = model.predictor();
    const std::string where = model.path().string();
    std::vector<std::string> classes;
    if (has_column(records_, kInputColumn)) {
      const std::size_t column = records_.column(kInputColumn);
      for (std::size_t row = 0; row < records_.rows(); ++row) {
        const std::string input(records_.field(row, column));
        std::error_code ignored;
        const auto file = folder_ / input;
        const bool is_file = std::filesystem::is_regular_file(file, ignored);
        classes.push_back(class_in(
            predict_typed(*predictor, is_file ? file.string() : input).json,
            where));
      }
      return classes;
    }
    const std::string rows = rows_for_a_model();
    const Prediction told = predictor->predict(
        {.text = records_.where(),
         .file = ByteSpan(reinterpret_cast<const std::uint8_t*>(rows.data()),
                          rows.size())});
    for (const auto& row : told.json.at("rows")) {
      classes.push_back(class_in(row, where));
    }
    return classes;
  }

 private:
  // All columns but what the gate knows them by.
  std::string rows_for_a_model() const {
    std::string text;
    const auto add_line = [&](auto&& field) {
      const char* comma = "";
      for (std::size_t i = 0; i < records_.names().size(); ++i) {
        const std::string& name = records_.names()[i];
        if (name == kIdColumn || name == kLabelColumn) continue;
        text += comma + csv_field(field(i));
        comma = ",";
      }
      text += '\n';
    };
    add_line(
        [&](std::size_t i) { return std::string_view(records_.names()[i]); });
    for (std::size_t row = 0; row < records_.rows(); ++row) {
      add_line([&](std::size_t i) { return records_.field(row, i); });
    }
    return text;
  }

  std::filesystem::path folder_;
  Records records_;
};

}  // namespace

std::unique_ptr<GatePoints> open_points_of_table(
    const std::filesystem::path& table) {
  return std::make_unique<PointsOfTable>(table);
}

}  // namespace weft
