// A decimal number as the double that is nearest to it, whatever the locale.
//
// Threads: pure functions.
#pragma once

#include <charconv>
#include <string_view>

namespace weft {

// The double for a number that from_chars() takes and finds out of range: 0
// where it is too small for any, infinity where it is too large, with its sign.
double double_out_of_range(std::string_view number);

// As std::from_chars(), which leaves `value` alone where no double is near.
inline std::from_chars_result read_double(const char* first, const char* last,
                                          double& value) {
  std::from_chars_result read = std::from_chars(first, last, value);
  if (read.ec == std::errc::result_out_of_range) {
    value = double_out_of_range({first, read.ptr});
    read.ec = {};
  }
  return read;
}

}  // namespace weft
