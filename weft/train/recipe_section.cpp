#include "weft/train/recipe_section.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Error invalid(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::string(), std::move(message));
}

bool is_within(double value, const NumberRange& range) {
  const bool is_above =
      range.is_open_below ? value > range.least : value >= range.least;
  const bool is_below =
      range.is_open_above ? value < range.most : value <= range.most;
  return is_above && is_below;  // false for NaN
}

std::string describe_range(const NumberRange& range) {
  if (range.most == std::numeric_limits<double>::max()) {
    return fmt::format("{} {}", range.is_open_below ? "above" : "at least",
                       range.least);
  }
  return fmt::format("in {}{}, {}{}", range.is_open_below ? '(' : '[',
                     range.least, range.most, range.is_open_above ? ')' : ']');
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
                                   const toml::node* node) const {
  // An override of a table is where all that is in it comes from.
  for (std::string prefix = path; !prefix.empty();) {
    const auto found = overrides_.find(prefix);
    if (found != overrides_.end()) {
      return "command line, --set " + found->second;
    }
    const std::size_t dot = prefix.rfind('.');
    prefix.resize(dot == std::string::npos ? 0 : dot);
  }
  if (node == nullptr || node->source().begin.line == 0) {
    // A table that no file holds was made by an override of something in it.
    const auto below = overrides_.lower_bound(path + ".");
    if (!path.empty() && below != overrides_.end() &&
        below->first.starts_with(path + ".")) {
      return "command line, --set " + below->second;
    }
    return file_;
  }
  return fmt::format("{}:{}", file_, node->source().begin.line);
}

const toml::node* RecipeSection::find(const std::string& key) {
  // What has been asked for is what is known: there is no second list of keys
  // that could differ from what is read.
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.push_back(key);
  }
  return table_ == nullptr ? nullptr : table_->get(key);
}

const toml::table* RecipeSection::find_table(const std::string& key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) wrong_type(key, *node, "a table");
  return node->as_table();
}

std::vector<const toml::table*> RecipeSection::find_tables(
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

std::string RecipeSection::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string RecipeSection::place_of(const std::string& key) const {
  // The table is asked directly, as find() would make the key a known one.
  const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
  return node == nullptr ? source_->describe(path_, table_)
                         : source_->describe(path_of(key), node);
}

void RecipeSection::read(const char* key, std::string& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (!node->is_string()) wrong_type(key, *node, "a string");
  value = node->as_string()->get();
}

void RecipeSection::read(const char* key, bool& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (!node->is_boolean()) wrong_type(key, *node, "true or false");
  value = node->as_boolean()->get();
}

void RecipeSection::read(const char* key, double& value,
                         const NumberRange& range) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  // Whole numbers are numbers too: a rate may be written 1.
  if (!node->is_number()) wrong_type(key, *node, "a number");
  value = *node->value<double>();
  if (!is_within(value, range)) {
    throw error(key, node,
                fmt::format("{} = {} must be {}", path_of(key), value,
                            describe_range(range)));
  }
}

void RecipeSection::read(const char* key, std::optional<double>& value,
                         const NumberRange& range) {
  // emplace() makes a value, which without the key would say that the recipe
  // gives one.
  if (find(key) == nullptr) return;
  read(key, value.emplace(), range);
}

void RecipeSection::read(const char* key, std::int64_t& value,
                         std::int64_t least, std::int64_t most) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (!node->is_integer()) wrong_type(key, *node, "an integer");
  value = node->as_integer()->get();
  // Without a bound above, the message does not show the largest integer as
  // one.
  if (value < least || value > most) {
    const bool has_most = most != std::numeric_limits<std::int64_t>::max();
    throw error(key, node,
                fmt::format("{} = {} must be {}", path_of(key), value,
                            has_most ? fmt::format("in [{}, {}]", least, most)
                                     : fmt::format("at least {}", least)));
  }
}

void RecipeSection::read(const char* key, std::vector<std::int64_t>& value,
                         std::int64_t least) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (!node->is_array()) wrong_type(key, *node, "a list of integers");
  value.clear();
  for (const auto& element : *node->as_array()) {
    if (!element.is_integer()) wrong_type(key, *node, "a list of integers");
    value.push_back(element.as_integer()->get());
    if (value.back() < least) {
      throw error(key, node,
                  fmt::format("{}: {} must be at least {}", path_of(key),
                              value.back(), least));
    }
  }
}

void RecipeSection::read(const char* key, std::vector<std::string>& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (!node->is_array()) wrong_type(key, *node, "a list of strings");
  value.clear();
  for (const auto& element : *node->as_array()) {
    if (!element.is_string()) wrong_type(key, *node, "a list of strings");
    value.push_back(element.as_string()->get());
  }
}

void RecipeSection::read_choice(const char* key, std::string& value,
                                const std::vector<std::string>& choices) {
  read(key, value);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) {
    return;
  }
  const std::string near = nearest(value, choices);
  throw error(
      key, find(key),
      fmt::format(
          "{} = '{}' is not known{}", path_of(key), value,
          near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)))
      .detail("known: " + join(choices));
}

Options RecipeSection::read_options(const std::vector<OptionSpec>& schema) {
  Options options;
  for (const OptionSpec& spec : schema) {
    OptionValue value = spec.value;
    read_option(spec.name.c_str(), value);
    options[spec.name] = std::move(value);
  }
  return options;
}

// The kind of the default is the kind that is due.
void RecipeSection::read_option(const char* key, OptionValue& value) {
  constexpr double kMost = std::numeric_limits<double>::max();
  std::visit(
      [&]<class T>(T& held) {
        if constexpr (std::is_same_v<T, double>) {
          // Whoever declared the option checks its range, which may depend on
          // others. NaN and infinity are refused all the same.
          read(key, held, {.least = -kMost});
        } else if constexpr (std::is_same_v<T, std::int64_t> ||
                             std::is_same_v<T, std::vector<std::int64_t>>) {
          read(key, held, std::numeric_limits<std::int64_t>::min());
        } else {
          read(key, held);
        }
      },
      value);
}

void RecipeSection::refuse_unknown() const {
  if (table_ == nullptr) return;
  for (const auto& [key, node] : *table_) {
    const std::string name(key.str());
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
      throw unknown(name, node);
    }
  }
}

void RecipeSection::require(const char* key, const std::string& value) const {
  if (!value.empty()) return;
  // A key that is only mistyped is asked about, rather than said to be lacking.
  // There is a table: read_recipe() gives an empty one for a section that the
  // file lacks.
  for (const auto& [other, node] : *table_) {
    const std::string name(other.str());
    if (name != key && !nearest(name, {key}).empty()) {
      throw unknown(name, node);
    }
  }
  throw invalid(fmt::format("the recipe lacks '{}'", path_of(key)))
      .detail("in: " + place_of(key));
}

Error RecipeSection::unknown(const std::string& name,
                             const toml::node& node) const {
  const std::string near = nearest(name, known_);
  return error(name, &node,
               fmt::format("unknown key '{}'{}", path_of(name),
                           near.empty() ? ""
                                        : fmt::format(" (did you mean '{}'?)",
                                                      path_of(near))))
      .detail("keys at this place: " +
              (known_.empty() ? std::string("none yet") : join(known_)));
}

Error RecipeSection::error(const std::string& key, const toml::node* node,
                           std::string message) const {
  return invalid(std::move(message))
      .detail("in: " + source_->describe(path_of(key), node));
}

void RecipeSection::wrong_type(const std::string& key, const toml::node& node,
                               std::string_view wanted) const {
  throw error(key, &node,
              fmt::format("{} must be {}, not {}", path_of(key), wanted,
                          describe_type(node)));
}

}  // namespace weft
