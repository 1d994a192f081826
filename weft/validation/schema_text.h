// Schemas as text: TOML, made to be read, edited and reviewed.
//
//   default_environments = ["training", "serving"]
//
//   [dataset]
//   min_rows = 1000
//
//   [feature.age]
//   type = "int"
//   min_fraction = 1.0
//   shape = [1]
//   min = 17
//   drift = { jensen_shannon = 0.05 }
//
// docs/validation.md has all keys. Every key is checked for its name, type and
// range.
//
// Threads: pure functions.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/validation/schema.h"

namespace weft::validation {

// Throws Error(kInvalidArgument) with `where` and the line for bad syntax, an
// unknown key (with the nearest known one), a wrong type, a value out of range,
// and a feature that names a list, distance or kind of anomaly that is none.
Schema parse_schema(std::string_view text, std::string_view where);
// Throws as read_text() does, too.
Schema load_schema(const std::filesystem::path& path);

// The text, defaults left out; parse_schema() reads the same schema back.
std::string to_toml(const Schema& schema);

// One table of the text: its path and its keys, with values as TOML.
struct SchemaSection {
  std::vector<std::string> path;  // {"feature", "age"}; none: the first lines
  std::vector<std::pair<std::string, std::string>> keys;
};
std::vector<SchemaSection> sections_of(const Schema& schema);
SchemaSection section_of(const FeatureRule& rule);
// "[feature.age]"
std::string heading_of(const SchemaSection& section);

}  // namespace weft::validation
