// A table of numbers with one label column: what a CSV file becomes.
//
// Threads: pure functions; the data set is immutable.
#pragma once

#include <string_view>

#include "weft/data/dataset.h"

namespace weft {

// Reads `text` as (features f32[columns - 1], label). The label column is the
// one called label, class, target or y, else the last. A first record without
// any number is taken for the header.
//
// Labels that are whole numbers from 0 are classes by number (i32); other
// texts are classes by name, sorted; numbers beyond that are regression
// targets (f32). A test part takes kind and classes from its training part.
//
// Throws Error(kDataLoss) with `where` and the line for a malformed record, a
// field that is no number, or a file without records.
DatasetRef parse_table(std::string_view text, std::string_view where,
                       const Dataset* train = nullptr);

}  // namespace weft
