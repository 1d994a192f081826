#include "weft/validation/schema.h"

#include <algorithm>
#include <array>
#include <set>

namespace weft::validation {
namespace {

constexpr std::array<std::string_view, kDomains> kDomainNames = {
    "any", "bool", "integer", "number", "text", "time", "image", "language"};
constexpr std::array<std::string_view, 7> kStages = {
    "planned",    "alpha", "debug_only", "disabled",
    "deprecated", "beta",  "production"};
constexpr std::array<std::string_view, 3> kSeverities = {"error", "warning",
                                                         "off"};

bool holds(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

std::string_view to_string(Domain domain) {
  return kDomainNames[static_cast<std::size_t>(domain)];
}

std::optional<FormKind> form_of(Domain domain) {
  switch (domain) {
    case Domain::kTime:
      return FormKind::kTime;
    case Domain::kImage:
      return FormKind::kImage;
    case Domain::kLanguage:
      return FormKind::kLanguage;
    default:
      return std::nullopt;
  }
}

std::string_view to_string(Stage stage) {
  return kStages[static_cast<std::size_t>(stage)];
}

std::string_view to_string(Severity severity) {
  return kSeverities[static_cast<std::size_t>(severity)];
}

void FeatureRule::forget_moments() {
  for (auto* bound : {&min_mean, &max_mean, &min_std, &max_std}) bound->reset();
}

FeatureRule* Schema::find(std::string_view name) {
  const auto found = std::ranges::find(features, name, &FeatureRule::name);
  return found == features.end() ? nullptr : &*found;
}

const FeatureRule* Schema::find(std::string_view name) const {
  const auto found = std::ranges::find(features, name, &FeatureRule::name);
  return found == features.end() ? nullptr : &*found;
}

const std::vector<std::string>* Schema::values_of(
    const FeatureRule& rule) const {
  if (rule.values) return &*rule.values;
  const auto found = value_lists.find(rule.values_of);
  return found == value_lists.end() ? nullptr : &found->second;
}

std::vector<std::string>* Schema::values_of(FeatureRule& rule) {
  if (rule.values) return &*rule.values;
  const auto found = value_lists.find(rule.values_of);
  return found == value_lists.end() ? nullptr : &found->second;
}

std::vector<std::string> Schema::environments() const {
  std::set<std::string> all(default_environments.begin(),
                            default_environments.end());
  for (const FeatureRule& rule : features) {
    all.insert(rule.in_environments.begin(), rule.in_environments.end());
    all.insert(rule.not_in_environments.begin(),
               rule.not_in_environments.end());
  }
  return {all.begin(), all.end()};
}

void Schema::check_environment(const std::string& environment) const {
  if (environment.empty()) return;
  const std::vector<std::string> known = environments();
  if (holds(known, environment)) return;
  Error error(ErrorCode::kInvalidArgument, "environment",
              "the schema speaks of no environment '{}'", environment);
  const std::string near = nearest(environment, known);
  error.hint(near.empty() ? "list it in default_environments"
                          : fmt::format("did you mean '{}'?", near));
  throw error;
}

bool Schema::is_in(const FeatureRule& rule,
                   const std::string& environment) const {
  if (environment.empty()) return true;
  if (holds(rule.not_in_environments, environment)) return false;
  return holds(rule.in_environments, environment) ||
         holds(default_environments, environment);
}

StatisticsOptions statistics_options(const Schema& schema,
                                     StatisticsOptions options) {
  for (const FeatureRule& rule : schema.features) {
    const auto* values = schema.values_of(rule);
    // Then one that is not exact surely has values that are not listed.
    if (values != nullptr) {
      options.more_values[rule.name] = values->size() + options.exact_values;
    }
    if (!rule.vocabulary.empty()) {
      options.vocabularies[rule.name] = schema.value_lists.at(rule.vocabulary);
    }
    if (rule.decodes_images()) options.images.insert(rule.name);
  }
  return options;
}

}  // namespace weft::validation
