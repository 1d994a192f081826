#include "weft/base/read_double.h"

#include <clocale>
#include <cstdlib>
#include <string>

namespace weft {

double double_out_of_range(std::string_view number) {
  // In the locale of a program around, strtod() might end at the point.
  static const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", nullptr);
  return strtod_l(std::string(number).c_str(), nullptr, plain);
}

}  // namespace weft
