// One table of a schema's text, with every key checked for its name and type.
//
// Threads: an object belongs to one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "weft/validation/schema.h"

namespace weft::validation {

// It knows which keys were asked for, so that those which nobody read are the
// unknown ones. Whatever is wrong throws Error(kInvalidArgument) with the line.
class SchemaTable {
 public:
  SchemaTable(const toml::table& table, std::string path,
              std::string_view where)
      : table_(table), path_(std::move(path)), where_(where) {}

  [[noreturn]] void fail(const toml::node* node, const std::string& key,
                         const std::string& reason) const {
    fail_at((node == nullptr ? table_ : *node).source().begin, key, reason);
  }

  const toml::node* find(const std::string& key) {
    known_.push_back(key);
    return table_.get(key);
  }

  std::optional<std::string> text(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value_exact<std::string>();
    if (!value) fail(node, key, "a text is due");
    return value;
  }
  // The place of a text among `choices`.
  template <class Choice>
  std::optional<Choice> choice(const std::string& key, std::size_t count) {
    const auto given = text(key);
    if (!given) return std::nullopt;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      names.emplace_back(to_string(static_cast<Choice>(i)));
      if (names.back() == *given) return static_cast<Choice>(i);
    }
    const std::string near = nearest(*given, names);
    fail(table_.get(key), key,
         fmt::format(
             "'{}' is not known{}", *given,
             near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
  }
  std::optional<double> number(const std::string& key, double least,
                               double most) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    return number_of(*node, key, least, most);
  }
  double number_of(const toml::node& node, const std::string& key, double least,
                   double most) const {
    // true would be read as 1.
    const auto value = node.value<double>();
    if (!node.is_number() || !value || std::isnan(*value)) {
      fail(&node, key, "a number is due");
    }
    if (*value < least || *value > most) {
      fail(&node, key,
           fmt::format("{} is not in [{}, {}]", *value, least, most));
    }
    return *value;
  }
  std::optional<Bound> bound(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    // An integer keeps all of its digits, of which a double has 53 bits.
    if (const auto whole = node->value_exact<std::int64_t>()) {
      return static_cast<Bound>(*whole);
    }
    return number_of(*node, key, -HUGE_VAL, HUGE_VAL);
  }
  std::optional<std::int64_t> count(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    return count_of(*node, key);
  }
  std::int64_t count_of(const toml::node& node, const std::string& key) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0) {
      fail(&node, key, "an integer of at least 0 is due");
    }
    return *value;
  }
  bool flag(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    const auto value = node->value_exact<bool>();
    if (!value) fail(node, key, "true or false is due");
    return *value;
  }
  std::optional<std::vector<std::string>> texts(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const toml::array* array = node->as_array();
    if (array == nullptr) fail(node, key, "a list of texts is due");
    std::vector<std::string> all;
    for (const toml::node& item : *array) {
      const auto value = item.value_exact<std::string>();
      if (!value) fail(&item, key, "a list of texts is due");
      all.push_back(*value);
    }
    return all;
  }
  const toml::table* table(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) fail(node, key, "a table is due");
    return node->as_table();
  }

  void refuse_unknown() const {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::ranges::find(known_, name) != known_.end()) continue;
      const std::string near = nearest(name, known_);
      fail_at(key.source().begin, name,
              near.empty() ? "there is no such key"
                           : fmt::format("there is no such key (did you mean "
                                         "'{}'?)",
                                         near));
    }
  }

 private:
  [[noreturn]] void fail_at(const toml::source_position& at,
                            const std::string& key,
                            const std::string& reason) const {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}", where_, at.line, at.column),
                "{}{}{}: {}", path_, path_.empty() || key.empty() ? "" : ".",
                key, reason);
  }

  const toml::table& table_;
  std::string path_;
  std::string_view where_;
  std::vector<std::string> known_;
};

}  // namespace weft::validation
