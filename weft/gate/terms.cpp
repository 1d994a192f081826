#include "weft/gate/terms.h"

#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 2> kModeNames{"fp-free", "fn-free"};
constexpr std::array<std::string_view, 3> kAdaptivityNames{
    "none", "first-change", "full"};

std::size_t place_of_name(std::span<const std::string_view> names,
                          std::string_view kind, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  const std::string near =
      nearest(name, std::vector<std::string>(names.begin(), names.end()));
  throw Error(ErrorCode::kInvalidArgument, kind, "'{}' is not known{}", name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

}  // namespace

std::string_view to_string(GateMode mode) {
  return kModeNames[static_cast<std::size_t>(mode)];
}

std::string_view to_string(Adaptivity adaptivity) {
  return kAdaptivityNames[static_cast<std::size_t>(adaptivity)];
}

GateMode gate_mode(std::string_view name) {
  return static_cast<GateMode>(place_of_name(kModeNames, "mode", name));
}

Adaptivity adaptivity_level(std::string_view name) {
  return static_cast<Adaptivity>(
      place_of_name(kAdaptivityNames, "adaptivity", name));
}

double log_failure(const GateTerms& terms) {
  const auto clauses = static_cast<double>(terms.condition.clauses.size());
  const auto steps = static_cast<double>(terms.steps);
  const double log_models = terms.adaptivity == Adaptivity::kFull
                                ? steps * std::numbers::ln2
                                : std::log(steps);
  return std::log1p(-terms.reliability) - std::log(clauses) - log_models;
}

bool passes(GateMode mode, Truth truth) {
  return mode == GateMode::kFpFree ? truth == Truth::kTrue
                                   : truth != Truth::kFalse;
}

}  // namespace weft
