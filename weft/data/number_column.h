// A column of a table whose numbers a format knows as such, so that nobody
// writes them as texts and reads these again. They are what their texts would
// be: a table is the same as CSV and as Parquet.
//
// Threads: value types and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

// Where the text of a number is written.
using NumberText = std::array<char, 32>;

struct NumberColumn {
  std::variant<std::vector<double>, std::vector<std::int64_t>,
               std::vector<std::uint64_t>>
      values = {};
  std::vector<std::uint8_t> is_known = {};  // one a row, as the values

  // NaN counts as missing, as its text does.
  bool is_missing(std::size_t row) const;
  // False for what is missing, and for infinities.
  bool number(std::size_t row, double& value) const;
  // The shortest text that reads back as the number; "" where it is missing.
  std::string_view text(std::size_t row, NumberText& memory) const;
};

// The number that the shortest text of a float says: 0.1 for 0.1f, where the
// double of the same bits would be 0.100000001490116.
double number_of_float(float value);

}  // namespace weft
