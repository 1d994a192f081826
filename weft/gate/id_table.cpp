#include "weft/gate/id_table.h"

#include "weft/base/error.h"
#include "weft/base/file.h"
#include "weft/base/utf8.h"
#include "weft/data/json_lines.h"

namespace weft {
namespace {

constexpr std::size_t kMostTableBytes = std::size_t{1} << 30;

}  // namespace

Records read_records(const std::filesystem::path& path) {
  const std::string text = read_text(path, kMostTableBytes);
  if (path.extension() != ".jsonl") {
    return records_from_csv(text, path.string());
  }
  const JsonLines lines = read_json_lines(text, path.string());
  return {
      lines.csv, path.string(), {.names = lines.names, .lines = lines.lines}};
}

Records records_from_csv(std::string_view text, std::string where) {
  return {text, std::move(where), {.has_header = true}};
}

IdTable::IdTable(const Records& records, std::string_view column)
    : where_(records.where()) {
  const std::size_t ids = records.column(kIdColumn);
  const std::size_t values = records.column(column);
  for (std::size_t row = 0; row < records.rows(); ++row) {
    const std::string_view id = records.field(row, ids);
    const std::string_view value = records.field(row, values);
    if (is_missing(value)) {
      throw Error(ErrorCode::kDataLoss, records.place(row),
                  "the {} of point '{}' is missing", column, shown(id));
    }
    if (!is_utf8(id) || !is_utf8(value)) {
      throw Error(ErrorCode::kDataLoss, records.place(row), "is no UTF-8 text");
    }
    if (!values_.emplace(id, value).second) {
      throw Error(ErrorCode::kDataLoss, records.place(row),
                  "point '{}' comes twice", shown(id));
    }
  }
}

std::optional<std::string> IdTable::find(std::string_view id) const {
  const auto found = values_.find(id);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> IdTable::in_order(
    std::span<const std::string> ids) const {
  std::vector<std::string> values;
  std::map<std::string_view, bool> known;
  for (const std::string& id : ids) {
    const auto found = values_.find(id);
    if (found == values_.end()) {
      throw Error(ErrorCode::kInvalidArgument, where_,
                  "says nothing of point '{}'", shown(id))
          .hint(fmt::format("it has {} points, and {} are due", values_.size(),
                            ids.size()));
    }
    values.push_back(found->second);
    known[id] = true;
  }
  for (const auto& [id, value] : values_) {
    if (!known.contains(id)) {
      throw Error(ErrorCode::kInvalidArgument, where_, "there is no point '{}'",
                  shown(id));
    }
  }
  return values;
}

std::string id_table_text(std::string_view column,
                          std::span<const std::string> ids,
                          std::span<const std::string> values) {
  WEFT_CHECK(ids.size() == values.size());
  std::string text = fmt::format("{},{}\n", kIdColumn, column);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    text += csv_field(ids[i]) + "," + csv_field(values[i]) + "\n";
  }
  return text;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r ") == text.npos && !text.empty()) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += '"';
  }
  return quoted + "\"";
}

}  // namespace weft
