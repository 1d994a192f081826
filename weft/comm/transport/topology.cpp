#include "weft/comm/transport/topology.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "weft/base/error.h"
#include "weft/base/quantity.h"

namespace weft {
namespace {

constexpr std::array<Unit, 10> kRates = {{{"B/s", 1, 1},
                                          {"kB/s", 1e3, 1},
                                          {"MB/s", 1e6, 1},
                                          {"GB/s", 1e9, 1},
                                          {"TB/s", 1e12, 1},
                                          {"bit/s", 1, 8},
                                          {"kbit/s", 1e3, 8},
                                          {"Mbit/s", 1e6, 8},
                                          {"Gbit/s", 1e9, 8},
                                          {"Tbit/s", 1e12, 8}}};
// Those that are written.
constexpr std::span<const Unit> kByteRates = std::span(kRates).first(5);

class TopologyParser {
 public:
  explicit TopologyParser(std::string_view text) : text_(text) {}

  Topology parse() {
    Topology topology;
    std::int64_t ranks = 1;
    do {
      topology.levels.push_back(parse_level());
      ranks *= topology.levels.back().size;
      // It is asked at each level, before the product can overflow.
      if (ranks > Topology::kMostRanks) throw mistake("too many ranks");
    } while (skip("x"));
    if (place_ != text_.size()) throw mistake("'x' or the end expected");
    return topology;
  }

 private:
  Level parse_level() {
    Level level;
    skip_spaces();
    const char* begin = text_.data() + place_;
    const auto [end, error] =
        std::from_chars(begin, text_.data() + text_.size(), level.size);
    if (error != std::errc() || level.size < 1) {
      throw mistake("a number of units expected");
    }
    place_ += static_cast<std::size_t>(end - begin);
    expect("@");
    level.latency = take_quantity(kTimeUnits, "a time such as 5us expected");
    expect(",");
    const double rate =
        take_quantity(kRates, "a rate such as 10GB/s or 1Gbit/s expected");
    if (rate <= 0) throw mistake("the rate must be above 0");
    level.seconds_per_byte = 1 / rate;
    return level;
  }

  double take_quantity(std::span<const Unit> units, std::string_view wanted) {
    skip_spaces();
    const char* begin = text_.data() + place_;
    double number = 0;
    const auto [end, error] =
        std::from_chars(begin, text_.data() + text_.size(), number);
    // from_chars reads "nan" too, which is not below 0 either.
    if (error != std::errc() || !(number >= 0)) throw mistake(wanted);
    place_ += static_cast<std::size_t>(end - begin);
    skip_spaces();
    // A unit ends where the grammar goes on, so that "GB/s" is not read as
    // "B/s".
    const auto last = text_.find_first_of(", @", place_);
    const std::string_view name = text_.substr(place_, last - place_);
    const Unit* unit = find_unit(units, name);
    if (unit == nullptr) throw mistake(wanted);
    place_ += name.size();
    return unit->of(number);
  }

  void skip_spaces() {
    while (place_ < text_.size() && text_[place_] == ' ') ++place_;
  }
  bool skip(std::string_view token) {
    skip_spaces();
    if (!text_.substr(place_).starts_with(token)) return false;
    place_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!skip(token)) throw mistake(fmt::format("'{}' expected", token));
  }

  Error mistake(std::string_view what) const {
    return Error(ErrorCode::kInvalidArgument, "topology", "{}", what)
        .detail(text_)
        .detail(std::string(place_, ' ') + "^")
        .hint("write levels, innermost first: 4@5us,35GB/s x 64@5us,10GB/s");
  }

  std::string_view text_;
  std::size_t place_ = 0;
};

// Takes the largest unit that leaves at least 1.
std::string to_text(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    // A rate is the inverse of an inverse and may have come out a hair below
    // its unit; without the margin 1GB/s would be written as 1000MB/s.
    if (value >= unit.of(1) * (1 - 1e-9)) best = &unit;
  }
  return fmt::format("{:.6g}{}", value / best->of(1), best->name);
}

}  // namespace

int Topology::ranks() const {
  int ranks = 1;
  for (const Level& level : levels) ranks *= level.size;
  return ranks;
}

int Topology::level_between(int a, int b) const {
  int found = -1;
  for (std::size_t s = 0; s < levels.size() && a != b; ++s) {
    // The ranks share a unit of the first level at which their numbers agree.
    a /= levels[s].size;
    b /= levels[s].size;
    found = static_cast<int>(s);
  }
  return found;
}

int Topology::unit_of(int rank, int level) const {
  for (int s = 0; s < level; ++s) {
    rank /= levels[static_cast<std::size_t>(s)].size;
  }
  return rank;
}

Level flat_level(const Topology& topology) {
  const Level& outermost = topology.levels.back();
  const int ranks = topology.ranks();
  return {ranks, outermost.latency,
          // All ranks of an outermost unit share its card, so each has its part
          // of the rate when all send.
          outermost.seconds_per_byte * ranks / outermost.size};
}

Topology parse_topology(std::string_view text) {
  return TopologyParser(text).parse();
}

std::string to_string(const Topology& topology) {
  std::string text;
  for (const Level& level : topology.levels) {
    text += fmt::format("{}{}@{},{}", text.empty() ? "" : " x ", level.size,
                        to_text(level.latency, kTimeUnits),
                        to_text(1 / level.seconds_per_byte, kByteRates));
  }
  return text;
}

}  // namespace weft
