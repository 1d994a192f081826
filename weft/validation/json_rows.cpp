#include "weft/validation/json_rows.h"

#include <algorithm>
#include <array>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>

namespace weft::validation {
namespace {

constexpr std::int64_t kBatchRows = 2048;
constexpr int kMostDepth = 16;

constexpr std::string_view kNull = "null";
// Numbers for which JSON has no word.
constexpr std::array<std::string_view, 3> kNoNumbers{"NaN", "Infinity",
                                                     "-Infinity"};

bool has_words(const std::string& line) {
  return line.find("NaN") != line.npos || line.find("Infinity") != line.npos;
}

// The line as JSON has it, with null in the place of such numbers; `words` are
// what stood at each null.
std::string with_nulls(const std::string& line,
                       std::deque<std::string_view>& words) {
  std::string json;
  bool is_text = false;
  for (std::string_view rest = line; !rest.empty();) {
    const auto stands_here = [&](std::string_view word) {
      return !is_text && rest.starts_with(word);
    };
    const auto word = std::ranges::find_if(kNoNumbers, stands_here);
    if (word != kNoNumbers.end() || stands_here(kNull)) {
      words.push_back(word != kNoNumbers.end() ? *word : kNull);
      json += kNull;
      rest.remove_prefix(words.back().size());
      continue;
    }
    if (rest[0] == '"') is_text = !is_text;
    // A quote behind a backslash ends no text.
    const std::string_view taken = rest.substr(0, rest[0] == '\\' ? 2 : 1);
    json += taken;
    rest.remove_prefix(taken.size());
  }
  return json;
}

// How deep the lists in `value` are.
ListDepth depth_of(const nlohmann::ordered_json& value) {
  if (!value.is_array()) return {.least = 0, .is_sure = true};
  ListDepth depth;
  for (const auto& item : value) {
    const ListDepth inner = depth_of(item);
    depth.least = std::max(depth.least, inner.least);
    depth.is_sure = depth.is_sure || inner.is_sure;
  }
  ++depth.least;
  return depth;
}

}  // namespace

JsonRows::JsonRows(const std::filesystem::path& path)
    : JsonRows(std::make_unique<std::ifstream>(path), path.string()) {
  if (!*lines_) {
    throw Error(ErrorCode::kUnavailable, where_, "cannot be opened");
  }
}

JsonRows::JsonRows(std::unique_ptr<std::istream> lines, std::string where)
    : where_(std::move(where)), lines_(std::move(lines)) {}

bool JsonRows::next(ColumnBatch& batch) {
  batch.rows = 0;
  batch.texts.clear();
  batch.columns.clear();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    Column& column = batch.columns.emplace_back();
    column.name = names_[i];
    column.is_typed = true;
    column.levels.resize(std::max<std::size_t>(depths_[i].least, 1));
  }
  std::string line;
  while (batch.rows < kBatchRows && std::getline(*lines_, line)) {
    ++number_;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    add_line(line, batch);
  }
  return batch.rows > 0;
}

void JsonRows::add_line(const std::string& line, ColumnBatch& batch) {
  if (line.size() > kMostLineBytes) fail("is too long");
  // The library would keep one of two values of a key without a word.
  std::vector<std::set<std::string>> keys(1);
  std::string twice;
  std::deque<std::string_view> words;
  const auto notice = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMostDepth) fail("is nested too deep");
    if (event == Json::parse_event_t::value && value.is_null() &&
        !words.empty()) {
      const std::string_view word = words.front();
      words.pop_front();
      // No other value of a line is binary.
      if (word != kNull) value = Json::binary({word.begin(), word.end()});
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  std::string with_words;
  if (has_words(line)) with_words = with_nulls(line, words);
  Json json;
  try {
    json = Json::parse(with_words.empty() ? line : with_words, notice);
  } catch (const nlohmann::json::exception&) {
    fail("is no JSON");
  }
  if (!twice.empty()) {
    fail(fmt::format("has '{}' twice", twice.substr(0, 40)));
  }
  if (!json.is_object()) fail("is no object");
  add_object("", json, 1, batch);
  ++batch.rows;
  // What the line had not is missing in its row.
  for (Column& column : batch.columns) {
    column.levels[0].resize(static_cast<std::size_t>(batch.rows), -1);
  }
}

void JsonRows::add_object(const std::string& prefix, const Json& object,
                          int depth, ColumnBatch& batch) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      add_object(prefix + key + ".", value, depth + 1, batch);
    } else if (!value.is_null()) {
      add_value(prefix + key, value, batch);
    }
  }
}

Column& JsonRows::column(const std::string& name, ColumnBatch& batch) {
  const auto [place, is_new] = places_.emplace(name, names_.size());
  if (is_new) {
    if (names_.size() == kMostFeatures) fail("has one feature too many");
    names_.push_back(name);
    depths_.emplace_back();
    Column& column = batch.columns.emplace_back();
    column.name = name;
    column.is_typed = true;
    // The rows before lack it.
    column.levels[0].assign(static_cast<std::size_t>(batch.rows), -1);
  }
  return batch.columns[place->second];
}

void JsonRows::add_value(const std::string& name, const Json& value,
                         ColumnBatch& batch) {
  Column& to = column(name, batch);
  if (to.levels[0].size() > static_cast<std::size_t>(batch.rows)) {
    fail(fmt::format("says '{}' in two ways", name.substr(0, 40)));
  }
  ListDepth& depth = depths_[places_.at(name)];
  const ListDepth own = value.is_array()
                            ? depth_of(value)
                            : ListDepth{.least = 1, .is_sure = true};
  if ((depth.is_sure && own.least > depth.least) ||
      (own.is_sure && depth.least > own.least)) {
    fail(fmt::format("has '{}' nested {} deep, and a line before {} deep",
                     name.substr(0, 40), own.least, depth.least));
  }
  depth = {std::max(depth.least, own.least), depth.is_sure || own.is_sure};
  to.levels.resize(std::max(depth.least, to.levels.size()));
  if (!value.is_array()) {
    to.levels[0].push_back(1);
    return add_items(to, Json::array({value}), to.levels.size(), batch);
  }
  to.levels[0].push_back(static_cast<std::int32_t>(value.size()));
  add_items(to, value, 1, batch);
}

void JsonRows::add_items(Column& column, const Json& value, std::size_t level,
                         ColumnBatch& batch) {
  for (const Json& item : value) {
    if (level < column.levels.size()) {
      if (!item.is_array()) {
        fail(fmt::format("has values beside lists in '{}'",
                         column.name.substr(0, 40)));
      }
      column.levels[level].push_back(static_cast<std::int32_t>(item.size()));
      add_items(column, item, level + 1, batch);
      continue;
    }
    if (item.is_object() || item.is_array() || item.is_null()) {
      fail(fmt::format("has {}s in the list '{}'", item.type_name(),
                       column.name.substr(0, 40)));
    }
    const bool is_string = item.is_string() || item.is_boolean();
    std::string text;
    if (item.is_binary()) {
      text.assign(item.get_binary().begin(), item.get_binary().end());
    } else {
      text = item.is_string() ? item.get<std::string>() : item.dump();
    }
    column.values.push_back(batch.texts.emplace_back(std::move(text)));
    column.are_strings.push_back(is_string ? 1 : 0);
  }
}

void JsonRows::fail(const std::string& reason) const {
  throw Error(ErrorCode::kDataLoss, fmt::format("{}:{}", where_, number_),
              "the line {}", reason);
}

}  // namespace weft::validation
