#include "weft/base/quantity.h"

#include <algorithm>
#include <charconv>

namespace weft {

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto found = std::ranges::find(units, name, &Unit::name);
  return found == units.end() ? nullptr : &*found;
}

std::optional<double> parse_quantity(std::string_view text,
                                     std::span<const Unit> units) {
  double number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc()) return std::nullopt;
  const Unit* unit = find_unit(
      units, text.substr(static_cast<std::size_t>(end - text.data())));
  if (unit == nullptr) return std::nullopt;
  return unit->of(number);
}

std::span<const Unit> units_of(std::string_view unit) {
  if (unit == "seconds") return kTimeUnits;
  if (unit == "bytes") return kByteUnits;
  if (unit == "share") return kShareUnits;
  return {};
}

}  // namespace weft
