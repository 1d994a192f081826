// Numbers with a unit, as people write them: "20ms", "200MB", "5%".
//
// Threads: pure functions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace weft {

// A number in this unit stands for number * times / over: both are exact, so
// that 5us is the double nearest to 5e-6.
struct Unit {
  std::string_view name;
  double times;
  double over;

  double of(double number) const { return number * times / over; }
};

inline constexpr std::array<Unit, 4> kTimeUnits = {
    {{"ns", 1, 1e9}, {"us", 1, 1e6}, {"ms", 1, 1e3}, {"s", 1, 1}}};
// They are powers of 1000, as for disks and networks.
inline constexpr std::array<Unit, 4> kByteUnits = {
    {{"B", 1, 1}, {"KB", 1e3, 1}, {"MB", 1e6, 1}, {"GB", 1e9, 1}}};
inline constexpr std::array<Unit, 1> kShareUnits = {{{"%", 1, 100}}};

// The unit of that name; null if there is none.
const Unit* find_unit(std::span<const Unit> units, std::string_view name);

// A number and one of the units behind it, nothing else; nothing for another
// text.
std::optional<double> parse_quantity(std::string_view text,
                                     std::span<const Unit> units);

// How an option that is a number of `unit` ("seconds", "bytes", "share") may be
// written beside a plain number; none for other units.
std::span<const Unit> units_of(std::string_view unit);

}  // namespace weft
