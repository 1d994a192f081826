// Rows that go into tables, added where the tables lie.
//
// What a region adds to an accumulator is often a few rows in a large table of
// zeros: the gradient of a lookup. Made as a tensor of its own and then added,
// each would cost the whole table.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "weft/graph/function.h"

namespace weft {

// A region whose results that are scatter_add along the first axis, perhaps
// under another shape, are added to totals instead.
struct WithTotals {
  Function function;                 // a further parameter for each of them
  std::vector<std::size_t> results;  // which they are, in that order
  // These tell the plan that the totals are overwritten.
  std::vector<std::pair<std::size_t, std::size_t>> donated;

  // Whether a result is one of them.
  bool adds(std::size_t result) const;
};

// `is_accumulated` says which results go to an accumulator and nowhere else;
// no two of them to the same.
WithTotals add_to_totals(const Function& region,
                         const std::vector<bool>& is_accumulated);

// The parameters that a result is made of by add_rows, perhaps under another
// shape, with that result: a loop passes a table on and changes some rows. None
// is there twice or is a result itself, as its memory can become one result's.
std::vector<std::pair<std::size_t, std::size_t>> changed_tables(
    const Function& region);

}  // namespace weft
