// Columns of text, each as wide as its widest cell.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

// The first row is the heading. `alignment` has a character for each column:
// '<' or '>'; rows may be shorter. Lines end with a line feed, and have no
// space before it.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::string& alignment);

}  // namespace weft::cli
