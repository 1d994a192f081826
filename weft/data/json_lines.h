// JSON lines, an object a line, as the records of a table (table.h).
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct JsonLines {
  std::vector<std::string> names;  // of the columns
  std::string csv;                 // the records, without a header
  std::vector<std::size_t> lines;  // where each of them comes from
};

// Columns are the keys in the order in which they come first, or `names`, if
// there are any: then no line may have others. What a line lacks, and null, is
// a missing value; true and false are texts. Line feeds within a text stay, so
// that errors name lines by `lines` (RecordsFormat has them). Throws
// Error(kDataLoss) with `where` and the line for what is no object, for a key
// that comes twice, for a zero byte, and for lists and objects within one, of
// which a table has none.
JsonLines read_json_lines(std::string_view text, std::string_view where,
                          const std::vector<std::string>& names = {});

}  // namespace weft
