// What can be said of a table that its file does not say.
//
// Threads: value types and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/data/records.h"

namespace weft {

struct TableOptions {
  // What is to be told: a column; or several, or one with a value
  // ("income=>50K"), each of which is so or not. None: the column called label,
  // class, target or y, else the last one.
  std::vector<std::string> label = {};
  // Columns that are so whatever they look like; the label may be among them.
  std::vector<std::string> numbers = {};
  std::vector<std::string> categories = {};
  std::vector<std::string> ignore = {};  // columns that the model must not see
  bool standardize = true;               // numbers, by the training part
  // What the reader of a format knows.
  RecordsFormat format = {};
  bool drops_label_dot = false;  // "<=50K." is "<=50K"
};

// The keys of [data] that say this, with defaults of a reader's own.
std::vector<OptionSpec> table_option_specs(const TableOptions& defaults = {});
// `known` with what the complete `options` say.
TableOptions table_options(const Options& options, TableOptions known = {});

// "a, b" as a list.
std::vector<std::string> listed(std::string_view text);

}  // namespace weft
