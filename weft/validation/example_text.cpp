#include <algorithm>

#include "weft/validation/examples.h"
#include "weft/validation/toml_text.h"

namespace weft::validation {
namespace {

// A string of JSON is one of TOML, as far as toml_string() writes them.
std::string json_text(const ExampleItem& item) {
  if (!item.is_list) {
    return item.is_string ? toml_string(item.text) : item.text;
  }
  std::string text;
  for (const ExampleItem& inner : item.items) {
    text += (text.empty() ? "" : ", ") + json_text(inner);
  }
  return "[" + text + "]";
}

// In a table, which has no lists, a list of one is its value.
const ExampleItem& unwrapped(ExampleItem&& item) = delete;
const ExampleItem& unwrapped(const ExampleItem& item) {
  const bool is_one =
      item.is_list && item.items.size() == 1 && !item.items[0].is_list;
  return is_one ? item.items[0] : item;
}

std::string csv_field(const std::optional<ExampleItem>& item) {
  if (!item || (item->is_list && item->items.empty())) return "";
  const std::string& text = unwrapped(*item).text;
  if (text.find_first_of(",\"\r\n ") == text.npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

std::string csv_text(const Examples& examples) {
  const auto record = [](const std::vector<std::string>& fields) {
    std::string line;
    for (const std::string& field : fields) {
      line += (&field == fields.data() ? "" : ",") + field;
    }
    // A record of one empty field would be an empty line, which is none.
    return (line.empty() ? "\"\"" : line) + "\n";
  };
  std::vector<std::string> fields;
  for (const std::string& name : examples.names) {
    fields.push_back(csv_field(ExampleItem{.text = name}));
  }
  std::string text = record(fields);
  for (const Example& row : examples.rows) {
    fields.clear();
    for (const auto& item : row) fields.push_back(csv_field(item));
    text += record(fields);
  }
  return text;
}

std::string json_lines_text(const Examples& examples) {
  std::string text;
  for (const Example& row : examples.rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i]) continue;
      line += (line.empty() ? "" : ", ") + toml_string(examples.names[i]) +
              ": " + json_text(*row[i]);
    }
    text += "{" + line + "}\n";
  }
  return text;
}

void add_item(const ExampleItem& item, std::size_t depth, Column& column,
              ColumnBatch& batch) {
  if (!item.is_list) {
    column.values.push_back(batch.texts.emplace_back(item.text));
    column.are_strings.push_back(column.is_typed && item.is_string ? 1 : 0);
    return;
  }
  if (depth >= column.levels.size()) column.levels.resize(depth + 1);
  column.levels[depth].push_back(static_cast<std::int32_t>(item.items.size()));
  for (const ExampleItem& inner : item.items) {
    add_item(inner, depth + 1, column, batch);
  }
}

}  // namespace

std::string text_of(const Examples& examples, ExampleFormat format) {
  return format == ExampleFormat::kCsv ? csv_text(examples)
                                       : json_lines_text(examples);
}

ColumnBatch columns_of(const Examples& examples, ExampleFormat format) {
  ColumnBatch batch{.rows = static_cast<std::int64_t>(examples.rows.size()),
                    .columns = {}};
  for (std::size_t i = 0; i < examples.names.size(); ++i) {
    Column column{.name = examples.names[i],
                  .is_typed = format == ExampleFormat::kJsonLines,
                  .values = {}};
    for (const Example& row : examples.rows) {
      // In a table an empty list is a field without a value.
      const bool is_missing =
          !row[i] || (format == ExampleFormat::kCsv && row[i]->is_list &&
                      row[i]->items.empty());
      if (is_missing) {
        column.levels[0].push_back(-1);
      } else {
        if (!row[i]->is_list) column.levels[0].push_back(1);
        add_item(*row[i], 0, column, batch);
      }
    }
    batch.columns.push_back(std::move(column));
  }
  return batch;
}

}  // namespace weft::validation
