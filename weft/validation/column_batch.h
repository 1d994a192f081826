// Rows as columns: what sources give and statistics take.
//
// Threads: value types.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::validation {

// One feature of the rows. A row lacks it, or has a list of values; lists may
// be of lists. Values are texts, as they stand in files: what they are is found
// by looking at them (value_text.h).
struct Column {
  std::string name;
  // True where the source tells texts from numbers, as JSON does; else by
  // content.
  bool is_typed = false;
  // levels[0] has the length of each row's list, -1 for a row without one;
  // levels[1] that of each list within these, and so on.
  std::vector<std::vector<std::int32_t>> levels =
      std::vector<std::vector<std::int32_t>>(1);
  std::vector<std::string_view> values;  // of all rows, one behind the other
  // For each value whether it is a text whatever it looks like; none: no value
  // is.
  std::vector<std::uint8_t> are_strings = {};

  void clear();
};

struct ColumnBatch {
  std::int64_t rows = 0;
  std::vector<Column> columns;
  // What values point to where they stand in no buffer of the source's.
  std::deque<std::string> texts = {};

  void clear();
};

// How many values each row has, lists of lists counted through.
std::vector<std::int64_t> values_per_row(const Column& column);

// Some rows, in this order. Values point to where those of `batch` do.
ColumnBatch select_rows(const ColumnBatch& batch,
                        std::span<const std::int64_t> rows);

}  // namespace weft::validation
