// What data must be: the features there are, how often and how many of their
// values, of what kind, and how far they may move from other data.
//
// Threads: value types and pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/validation/summary.h"

namespace weft::validation {

// How many items a list may have; how large an image may be.
struct ListBounds {
  std::optional<std::int64_t> min = {};
  std::optional<std::int64_t> max = {};

  bool operator==(const ListBounds&) const = default;
};

// A distance (weft/validation/distances) and how large it may be.
struct Threshold {
  std::string distance;
  double most = 0;

  bool operator==(const Threshold&) const = default;
};

// What values are beyond their type.
enum class Domain {
  kAny,
  kBool,
  kInteger,
  kNumber,
  kText,
  kTime,
  kImage,
  kLanguage
};
inline constexpr std::size_t kDomains = 8;
// "any", "bool", "integer", "number", "text", "time", "image", "language".
std::string_view to_string(Domain domain);
// The form that the values of the domain have, if it is one of forms.
std::optional<FormKind> form_of(Domain domain);

// How far a feature has come. Up to kDeprecated nothing about it is checked.
enum class Stage {
  kPlanned,
  kAlpha,
  kDebugOnly,
  kDisabled,
  kDeprecated,
  kBeta,
  kProduction
};
std::string_view to_string(Stage stage);

struct FeatureRule {
  std::string name;
  std::optional<ValueType> type = {};
  std::optional<double> min_fraction = {};     // of the rows
  std::optional<std::int64_t> min_count = {};  // of rows
  // The exact sizes of lists at each level, where all have them; else bounds.
  std::optional<std::vector<std::int64_t>> shape = {};
  std::vector<ListBounds> value_count = {};
  Domain domain = Domain::kAny;
  std::string format = {};  // of times and images; empty: any
  // Bounds of what images are, by ImageMeasure.
  std::array<ListBounds, kImageMeasures> image = {};
  // All values there may be; or the name of a list that several features share.
  std::optional<std::vector<std::string>> values = {};
  std::string values_of = {};
  std::optional<Bound> min = {};
  std::optional<Bound> max = {};
  bool disallow_nan = false;
  bool disallow_inf = false;
  // Bounds of mean and deviation; by weight where the data have weights.
  std::optional<double> min_mean = {};
  std::optional<double> max_mean = {};
  std::optional<double> min_std = {};
  std::optional<double> max_std = {};
  std::optional<std::int64_t> max_bytes = {};  // of each value
  // The name of a list of the words that texts are made of, and the share of
  // their words that must be in it.
  std::string vocabulary = {};
  double min_coverage = 1;
  double min_domain_mass = 1;  // the share of values that must be in the domain
  std::optional<std::int64_t> min_distinct = {};
  std::optional<std::int64_t> max_distinct = {};
  std::optional<Stage> stage = {};
  std::vector<std::string> in_environments = {};
  std::vector<std::string> not_in_environments = {};
  std::vector<Threshold> drift = {};
  std::vector<Threshold> skew = {};
  std::string histogram = "equal_width";  // "quantiles", "values": of distances
  std::string unit = {};                  // for people

  bool operator==(const FeatureRule&) const = default;

  // Takes the bounds of mean and deviation away.
  void forget_moments();
  // Whether images have bounds, which only decoded ones can be held to.
  bool decodes_images() const { return image != decltype(image){}; }
  bool is_live() const { return !stage || *stage > Stage::kDeprecated; }
  bool is_required() const {
    return min_fraction.value_or(0) > 0 || min_count.value_or(0) > 0;
  }
};

struct DatasetRule {
  std::optional<std::int64_t> min_rows = {};
  std::optional<std::int64_t> max_rows = {};
  // The rows, over those of the previous data.
  std::optional<double> min_rows_ratio = {};
  std::optional<double> max_rows_ratio = {};

  bool operator==(const DatasetRule&) const = default;
};

enum class Severity { kError, kWarning, kOff };
std::string_view to_string(Severity severity);

struct Schema {
  // In which environments a feature is that says nothing of them.
  std::vector<std::string> default_environments = {};
  DatasetRule dataset = {};
  std::map<std::string, Severity> severity = {};  // by kind of anomaly
  std::vector<FeatureRule> features = {};
  std::map<std::string, std::vector<std::string>> value_lists = {};  // by name

  bool operator==(const Schema&) const = default;

  FeatureRule* find(std::string_view name);
  const FeatureRule* find(std::string_view name) const;
  // The list of values of a feature, or null.
  const std::vector<std::string>* values_of(const FeatureRule& rule) const;
  std::vector<std::string>* values_of(FeatureRule& rule);

  // All environments that it speaks of.
  std::vector<std::string> environments() const;
  // Throws Error(kInvalidArgument) for an environment that it never mentions.
  // An empty one stands for any.
  void check_environment(const std::string& environment) const;
  // The defaults and in_environments, without not_in_environments.
  bool is_in(const FeatureRule& rule, const std::string& environment) const;
};

// Options for statistics of data that the schema is held against: of features
// with many listed values as many are counted exactly, words are looked for in
// vocabularies, and images that have bounds are decoded.
StatisticsOptions statistics_options(const Schema& schema,
                                     StatisticsOptions options = {});

}  // namespace weft::validation
