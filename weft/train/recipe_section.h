// One table of a recipe, read key by key: each read checks type and range,
// and remembers the key, so that the keys which nobody read are the unknown
// ones.
//
// Threads: caller synchronises.
// Errors:  Error(kInvalidArgument) that names the key by its path, and the file
//          and line or the override that it comes from.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "weft/base/option_schema.h"

namespace weft {

// Where the values of a recipe come from, for messages.
class RecipeSource {
 public:
  explicit RecipeSource(std::string_view file) : file_(file) {}

  // From now on `path` and what is below it comes from `override`.
  void add_override(std::string path, std::string override);
  // "digits.toml:12" or "command line, --set optimizer.lr=0.1".
  std::string describe(const std::string& path, const toml::node* node) const;

 private:
  std::string file_;
  std::map<std::string, std::string> overrides_;
};

struct NumberRange {
  double least = 0;
  double most = std::numeric_limits<double>::max();
  bool is_open_below = false;  // `least` itself is excluded
  bool is_open_above = false;
};

class RecipeSection {
 public:
  // `table` may be null: then every key keeps its default.
  RecipeSection(const toml::table* table, std::string path,
                const RecipeSource& source)
      : table_(table), path_(std::move(path)), source_(&source) {}

  // Each leaves `value` alone if the key is not there.
  void read(const char* key, std::string& value);
  void read(const char* key, bool& value);
  void read(const char* key, double& value, const NumberRange& range = {});
  void read(const char* key, std::optional<double>& value,
            const NumberRange& range = {});
  void read(const char* key, std::int64_t& value, std::int64_t least,
            std::int64_t most = std::numeric_limits<std::int64_t>::max());
  void read(const char* key, std::vector<std::int64_t>& value,
            std::int64_t least);
  void read(const char* key, std::vector<std::string>& value);
  // Throws unless the string is one of `choices`.
  void read_choice(const char* key, std::string& value,
                   const std::vector<std::string>& choices);

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
  // The file and line, or the override, that `key` comes from; the table's
  // own for a key that is not there.
  std::string place_of(const std::string& key) const;

  // Throws for a key that was never asked for.
  void refuse_unknown() const;
  // Throws if `value`, read from `key`, is still empty.
  void require(const char* key, const std::string& value) const;

  // An error about the value of a key of this table.
  Error error(const std::string& key, const toml::node* node,
              std::string message) const;

 private:
  void read_option(const char* key, OptionValue& value);
  Error unknown(const std::string& name, const toml::node& node) const;
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
