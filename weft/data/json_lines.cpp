#include "weft/data/json_lines.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "weft/base/error.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// As a field of a CSV record.
std::string quoted_field(const std::string& text) {
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

class JsonTable {
 public:
  JsonTable(std::string_view where, const std::vector<std::string>& names)
      : where_(where), names_(names), is_closed_(!names.empty()) {
    for (const std::string& name : names_)
      places_.emplace(name, places_.size());
  }

  void add(std::string_view line, std::size_t number) {
    number_ = number;
    std::vector<std::string>& record = records_.emplace_back();
    lines_.push_back(number);
    const Json json = parsed(line);
    if (!json.is_object()) throw damaged("is no object");
    for (const auto& [name, value] : json.items()) {
      const std::size_t place = place_of(name);
      if (record.size() <= place) record.resize(place + 1);
      record[place] = field_of(name, value);
    }
  }

  JsonLines take() && {
    JsonLines table{std::move(names_), {}, std::move(lines_)};
    for (std::vector<std::string>& record : records_) {
      record.resize(table.names.size());
      for (std::size_t i = 0; i < record.size(); ++i) {
        table.csv += (i == 0 ? "" : ",") + record[i];
      }
      table.csv += '\n';
    }
    return table;
  }

 private:
  // The library would keep one of two values of a key without a word.
  Json parsed(std::string_view line) const {
    std::set<std::string> keys;
    std::string twice;
    try {
      Json json = Json::parse(
          line, [&](int depth, Json::parse_event_t event, Json& value) {
            if (event == Json::parse_event_t::key && depth == 1 &&
                !keys.insert(value.get<std::string>()).second) {
              twice = value.get<std::string>();
            }
            return true;
          });
      if (twice.empty()) return json;
    } catch (const nlohmann::json::exception&) {
      throw damaged("is no JSON");
    }
    throw damaged(fmt::format("has '{}' twice", twice.substr(0, 40)));
  }

  Error damaged(std::string_view what) const {
    return {ErrorCode::kDataLoss, fmt::format("{}:{}", where_, number_),
            "the line {}", what};
  }

  std::size_t place_of(const std::string& name) {
    const auto found = places_.find(name);
    if (found != places_.end()) return found->second;
    if (is_closed_) {
      throw damaged(fmt::format("has '{}', which the training part has not",
                                name.substr(0, 40)));
    }
    names_.push_back(name);
    return places_.emplace(name, places_.size()).first->second;
  }

  std::string field_of(const std::string& name, const Json& value) const {
    if (value.is_null()) return "";
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      // Messages of whoever reads the records would name another line.
      if (text.find('\0') != text.npos) throw damaged("has a zero byte");
      return quoted_field(text);
    }
    if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
    if (value.is_number()) return value.dump();
    throw damaged(
        fmt::format("has a {} as '{}', where a table has numbers and "
                    "texts",
                    value.is_array() ? "list" : "object", name.substr(0, 40)));
  }

  std::string_view where_;
  std::vector<std::string> names_;
  bool is_closed_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::vector<std::string>> records_;
  std::vector<std::size_t> lines_;
  std::size_t number_ = 0;
};

}  // namespace

JsonLines read_json_lines(std::string_view text, std::string_view where,
                          const std::vector<std::string>& names) {
  JsonTable table(where, names);
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    // Files often end with an empty line.
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    table.add(line, number);
  }
  return std::move(table).take();
}

}  // namespace weft
