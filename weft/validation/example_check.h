// Which rows do not fit a schema: the checks of a whole batch, held against
// each row alone, and the statistics of the rows that each kind of anomaly
// strikes.
//
// Threads: pure functions.
#pragma once

#include <map>

#include "weft/validation/check.h"
#include "weft/validation/row_source.h"

namespace weft::validation {

struct StruckRows {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> first = {};  // of the rows, from 1
  Statistics statistics = Statistics();
};

struct ExampleCheckOptions {
  std::string environment = {};
  std::size_t most_rows = 10;  // that are named of each kind
};

// What is struck, by feature and kind. What is a property of many rows is none
// of one: min_count, distinct values, rows of the data, shares below 1,
// distances. A row costs a check of all features, tens of microseconds.
std::map<std::pair<std::string, std::string>, StruckRows> check_examples(
    const Schema& schema, RowSource& rows, const ExampleCheckOptions& options);

}  // namespace weft::validation
