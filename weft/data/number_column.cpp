#include "weft/data/number_column.h"

#include <charconv>
#include <cmath>

namespace weft {

bool NumberColumn::is_missing(std::size_t row) const {
  if (is_known[row] == 0) return true;
  const auto* reals = std::get_if<std::vector<double>>(&values);
  return reals != nullptr && std::isnan((*reals)[row]);
}

bool NumberColumn::number(std::size_t row, double& value) const {
  if (is_known[row] == 0) return false;
  value = std::visit(
      [&](const auto& all) { return static_cast<double>(all[row]); }, values);
  return std::isfinite(value);
}

std::string_view NumberColumn::text(std::size_t row, NumberText& memory) const {
  if (is_known[row] == 0) return "";
  return std::visit(
      [&](const auto& all) {
        char* const begin = memory.data();
        char* const end =
            std::to_chars(begin, begin + memory.size(), all[row]).ptr;
        return std::string_view(begin, static_cast<std::size_t>(end - begin));
      },
      values);
}

double number_of_float(float value) {
  // A whole number is its own text, and so is what is no number.
  constexpr float kAllWhole = 1 << 24;
  if (!std::isfinite(value) ||
      (std::fabs(value) < kAllWhole && value == std::trunc(value))) {
    return static_cast<double>(value);
  }
  NumberText memory;
  const char* const end =
      std::to_chars(memory.data(), memory.data() + memory.size(), value).ptr;
  double number = 0;
  std::from_chars(memory.data(), end, number);
  return number;
}

}  // namespace weft
