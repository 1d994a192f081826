#include "weft/train/recipe/section_reader.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "weft/base/quantity.h"

namespace weft {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

toml::source_position place_in_file(const toml::node* node) {
  return node == nullptr ? toml::source_position{} : node->source().begin;
}

Error invalid(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::string(), std::move(message));
}

}  // namespace

std::string_view describe_type(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

void RecipeSource::add_override(std::string path, std::string override) {
  // A later override of a key replaces its value, and so its place.
  overrides_[std::move(path)] = std::move(override);
}

std::string RecipeSource::describe(const std::string& path,
                                   const toml::source_position& at) const {
  // An override of a table is where all that is in it comes from.
  for (std::string prefix = path; !prefix.empty();) {
    const auto found = overrides_.find(prefix);
    if (found != overrides_.end()) {
      return "command line, --set " + found->second;
    }
    const std::size_t dot = prefix.rfind('.');
    prefix.resize(dot == std::string::npos ? 0 : dot);
  }
  // Only what was parsed has a line.
  if (at.line == 0) {
    // A table that no file holds was made by an override of something in it.
    const auto below = overrides_.lower_bound(path + ".");
    if (!path.empty() && below != overrides_.end() &&
        below->first.starts_with(path + ".")) {
      return "command line, --set " + below->second;
    }
    return file_;
  }
  return fmt::format("{}:{}:{}", file_, at.line, at.column);
}

const toml::node* SectionReader::find(const std::string& key) {
  // What has been asked for is what is known: there is no second list of keys
  // that could differ from what is read.
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.push_back(key);
  }
  return table_ == nullptr ? nullptr : table_->get(key);
}

const toml::table* SectionReader::find_table(const std::string& key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) wrong_type(key, *node, "a table");
  return node->as_table();
}

std::vector<const toml::table*> SectionReader::find_tables(
    const std::string& key) {
  const toml::node* node = find(key);
  if (node == nullptr) return {};
  if (!node->is_array()) wrong_type(key, *node, "a list of tables");
  std::vector<const toml::table*> tables;
  for (const auto& element : *node->as_array()) {
    if (!element.is_table()) wrong_type(key, *node, "a list of tables");
    tables.push_back(element.as_table());
  }
  return tables;
}

std::string SectionReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string SectionReader::place_of(const std::string& key) const {
  // The table is asked directly, as find() would make the key a known one.
  const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
  return node == nullptr ? source_->describe(path_, place_in_file(table_))
                         : source_->describe(path_of(key), place_in_file(node));
}

namespace {

// Whether all elements are of type T, which are then in `values`.
template <class T>
bool take_all(const toml::array& list, std::vector<T>& values) {
  values.clear();
  for (const auto& element : list) {
    // is() takes no other type, where value() would convert one.
    if (!element.is<T>()) return false;
    values.push_back(*element.value<T>());
  }
  return true;
}

}  // namespace

// "200MB" where numbers of the unit may be written so; nothing for another
// text.
std::optional<double> SectionReader::read_quantity(
    const OptionSpec& spec, const toml::node& node) const {
  const std::span<const Unit> units = units_of(spec.unit);
  if (units.empty() || !node.is_string()) return std::nullopt;
  const std::string& text = node.as_string()->get();
  if (const auto quantity = parse_quantity(text, units)) return quantity;
  std::vector<std::string_view> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  throw error(
      spec.name, &node,
      fmt::format("{} must be a number of {}, or a text of a number "
                  "and one of {}, not '{}'",
                  path_of(spec.name), spec.unit, fmt::join(names, ", "), text));
}

// The kind of the default is the kind that is due.
void SectionReader::read_value(const OptionSpec& spec, const toml::node& node,
                               OptionValue& value) const {
  const std::string& key = spec.name;
  std::visit(
      [&]<class T>(T& held) {
        if constexpr (std::is_same_v<T, std::string>) {
          if (!node.is_string()) wrong_type(key, node, "a string");
          held = node.as_string()->get();
        } else if constexpr (std::is_same_v<T, bool>) {
          if (!node.is_boolean()) wrong_type(key, node, "true or false");
          held = node.as_boolean()->get();
        } else if constexpr (std::is_same_v<T, double>) {
          if (const auto quantity = read_quantity(spec, node)) {
            held = *quantity;
            return;
          }
          // Whole numbers are numbers too: a rate may be written 1.
          if (!node.is_number()) wrong_type(key, node, "a number");
          held = *node.value<double>();
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          if (!node.is_integer()) wrong_type(key, node, "an integer");
          held = node.as_integer()->get();
        } else {
          constexpr const char* kWanted =
              std::is_same_v<T, std::vector<std::string>>
                  ? "a list of strings"
                  : "a list of integers";
          if (!node.is_array() || !take_all(*node.as_array(), held)) {
            wrong_type(key, node, kWanted);
          }
        }
      },
      value);
}

OptionValue SectionReader::read(const OptionSpec& spec) {
  const toml::node* node = find(spec.name);
  if (node == nullptr) return default_of(spec);
  OptionValue value = spec.value;
  read_value(spec, *node, value);
  const auto reason = declines(spec, value);
  if (!reason) {
    // canonical() reads calls within texts, whose mistakes then say where they
    // stand.
    return blame(spec.name, [&] { return canonical(spec, std::move(value)); });
  }
  const auto* text = std::get_if<std::string>(&value);
  throw error(spec.name, node,
              fmt::format("{} = {} {}", path_of(spec.name),
                          text == nullptr ? to_string(value)
                                          : fmt::format("'{}'", *text),
                          *reason));
}

Options SectionReader::read_options(const std::vector<OptionSpec>& schema) {
  Options options;
  for (const OptionSpec& spec : schema) options[spec.name] = read(spec);
  return options;
}

std::string SectionReader::require_text(const OptionSpec& spec) {
  auto text = std::get<std::string>(read(spec));
  if (!text.empty()) return text;
  // A key that is only mistyped is asked about, rather than said to be lacking.
  // There is a table: an empty one stands for a section that the file lacks.
  for (const auto& [key, node] : *table_) {
    if (key.str() != spec.name && !nearest(key.str(), {spec.name}).empty()) {
      throw unknown(key);
    }
  }
  throw invalid(fmt::format("the recipe lacks '{}'", path_of(spec.name)))
      .detail("in: " + place_of(spec.name));
}

void SectionReader::refuse_unknown() const {
  if (table_ == nullptr) return;
  for (const auto& [key, node] : *table_) {
    if (std::find(known_.begin(), known_.end(), key.str()) == known_.end()) {
      throw unknown(key);
    }
  }
}

Error SectionReader::unknown(const toml::key& key) const {
  const std::string name(key.str());
  const std::string near = nearest(name, known_);
  return invalid(fmt::format("unknown key '{}'{}", path_of(name),
                             near.empty() ? ""
                                          : fmt::format(" (did you mean '{}'?)",
                                                        path_of(near))))
      .detail("in: " + source_->describe(path_of(name), key.source().begin))
      .detail("keys at this place: " +
              (known_.empty() ? std::string("none yet") : join(known_)));
}

Error SectionReader::error(const std::string& key, const toml::node* node,
                           std::string message) const {
  return invalid(std::move(message))
      .detail("in: " + source_->describe(path_of(key), place_in_file(node)));
}

void SectionReader::wrong_type(const std::string& key, const toml::node& node,
                               std::string_view wanted) const {
  throw error(key, &node,
              fmt::format("{} must be {}, not {}", path_of(key), wanted,
                          describe_type(node)));
}

}  // namespace weft
