// One table of a recipe, read key by key: each read checks type and range,
// and remembers the key, so that the keys which nobody read are the unknown
// ones.
//
// Threads: caller synchronises.
// Errors:  Error(kInvalidArgument) that names the key by its path, and the file
//          and place or the override that it comes from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/ranges.h"

namespace weft {

// Where the values of a recipe come from, for messages.
class RecipeSource {
 public:
  explicit RecipeSource(std::string_view file) : file_(file) {}

  // From now on `path` and what is below it comes from `override`.
  void add_override(std::string path, std::string override);
  // "digits.toml:12:8" or "command line, --set optimizer.lr=0.1". `at` is where
  // `path` or its value begins in the file: line 0 if it is not from there.
  std::string describe(const std::string& path,
                       const toml::source_position& at) const;

 private:
  std::string file_;
  std::map<std::string, std::string> overrides_;
};

// A larger count is a mistake. With this bound, epochs times their batches stay
// within 64 bits for fewer than 2^23 batches.
inline constexpr double kMostCount = 1099511627776;  // 2^40

class SectionReader {
 public:
  // `table` may be null: then every key keeps its default. It and `source`
  // outlive this.
  SectionReader(const toml::table* table, std::string path,
                const RecipeSource& source)
      : table_(table), path_(std::move(path)), source_(&source) {}

  // The value of a key, or its default. Throws for another type, and for what
  // the spec refuses.
  OptionValue read(const OptionSpec& spec);
  // A text that must be there.
  std::string require_text(const OptionSpec& spec);

  // Reads the options that `schema` declares; the defaults stand for those
  // that are not there.
  Options read_options(const std::vector<OptionSpec>& schema);

  // The value of `key`, or null; the key is known from now on.
  const toml::node* find(const std::string& key);
  // The subtable `key`, or null. Throws if it is something else.
  const toml::table* find_table(const std::string& key);
  // The tables of the list `key`, in order; none if it is not there. Throws if
  // it is something else.
  std::vector<const toml::table*> find_tables(const std::string& key);
  // "train.batch".
  std::string path_of(std::string_view key) const;
  // The file, line and column, or the override, that the value of `key` comes
  // from; the table's own for a key that is not there.
  std::string place_of(const std::string& key) const;

  // Throws for a key that was never asked for.
  void refuse_unknown() const;
  // Runs `body`; what it refuses happened at `key`.
  template <class Body>
  decltype(auto) blame(const std::string& key, Body&& body) const {
    try {
      return body();
    } catch (Error& error) {
      error.detail(fmt::format("in: {}, {}", key.empty() ? path_ : path_of(key),
                               place_of(key)));
      throw;
    }
  }

  // The reader of a table within this one, by its path.
  SectionReader inner(const toml::table* table, const std::string& path) const {
    return {table, path, *source_};
  }

  // An error about the value of a key of this table.
  Error error(const std::string& key, const toml::node* node,
              std::string message) const;

 private:
  std::optional<double> read_quantity(const OptionSpec& spec,
                                      const toml::node& node) const;
  void read_value(const OptionSpec& spec, const toml::node& node,
                  OptionValue& value) const;
  Error unknown(const toml::key& key) const;
  [[noreturn]] void wrong_type(const std::string& key, const toml::node& node,
                               std::string_view wanted) const;

  const toml::table* table_;
  std::string path_;
  const RecipeSource* source_;
  std::vector<std::string> known_;
};

// "an integer", "a string", … for messages.
std::string_view describe_type(const toml::node& node);

}  // namespace weft
