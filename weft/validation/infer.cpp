#include "weft/validation/infer.h"

#include <algorithm>
#include <set>

#include "weft/validation/boolean_text.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

bool is_bool(const FeatureSummary& feature) {
  if (feature.type == ValueType::kInt) {
    return feature.numbers->least >= 0 && feature.numbers->most == 1;
  }
  if (feature.type != ValueType::kString || !feature.is_exact) return false;
  std::size_t trues = 0;
  std::size_t falses = 0;
  for (const ValueCount& value : feature.counts) {
    if (is_true_text(value.text)) ++trues;
    if (is_false_text(value.text)) ++falses;
  }
  // One of each at most, and nothing else.
  return trues <= 1 && falses <= 1 && trues + falses == feature.counts.size();
}

bool can_be_listed(const FeatureSummary& feature, std::size_t most) {
  if (!feature.is_exact || feature.counts.size() > most) return false;
  // Only the beginning of a longer value is known.
  return std::ranges::all_of(feature.counts, [](const ValueCount& value) {
    return value.bytes == value.text.size();
  });
}

// Times and images are told before lists are: the days of one batch are those
// of no other.
bool infer_form(const FeatureSummary& feature, const InferOptions& options,
                FeatureRule& rule) {
  if (feature.values < options.least_formed) return false;
  for (const Domain domain : {Domain::kTime, Domain::kImage}) {
    const FormKind kind = *form_of(domain);
    if (feature.forms.of(kind) < feature.values) continue;
    const std::string format = feature.forms.most_frequent(kind);
    const bool is_one = feature.forms.of(kind, format) == feature.values;
    // Times in several formats are rather an error than a rule.
    if (domain == Domain::kTime && !is_one) continue;
    rule.domain = domain;
    if (domain == Domain::kTime) rule.format = format;
    return true;
  }
  return false;
}

void infer_language(const FeatureSummary& feature, const InferOptions& options,
                    FeatureRule& rule) {
  const auto due = options.language_share * static_cast<double>(feature.values);
  if (feature.values < options.least_formed ||
      feature.type != ValueType::kString ||
      static_cast<double>(feature.forms.of(FormKind::kLanguage)) < due) {
    return;
  }
  rule.domain = Domain::kLanguage;
  rule.min_domain_mass = options.language_share;
}

void infer_domain(const FeatureSummary& feature, const InferOptions& options,
                  FeatureRule& rule) {
  if (feature.invalid_utf8 > 0) return;
  if (is_bool(feature)) {
    rule.domain = Domain::kBool;
  } else if (infer_form(feature, options, rule)) {
    return;
  } else if (feature.strings > 0 &&
             feature.integer_strings == feature.strings) {
    rule.domain = Domain::kInteger;
  } else if (feature.type == ValueType::kString &&
             can_be_listed(feature, options.most_values)) {
    rule.values.emplace();
    for (const ValueCount& value : feature.counts) {
      rule.values->push_back(value.text);
    }
    std::ranges::sort(*rule.values);
  } else {
    infer_language(feature, options, rule);
  }
}

// How much two sorted lists have in common: |a ∩ b| / |a ∪ b|.
double similarity(const std::vector<std::string>& a,
                  const std::vector<std::string>& b) {
  std::vector<std::string> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return static_cast<double>(both.size()) /
         static_cast<double>(a.size() + b.size() - both.size());
}

bool are_similar(const std::vector<std::string>& a,
                 const std::vector<std::string>& b,
                 const InferOptions& options) {
  if (a == b) return true;
  return a.size() > options.least_shared && b.size() > options.least_shared &&
         similarity(a, b) > options.similarity;
}

// Features whose lists are similar share one of all their values, called as the
// first of them.
void share_lists(Schema& schema, const InferOptions& options) {
  for (std::size_t i = 0; i < schema.features.size(); ++i) {
    FeatureRule& first = schema.features[i];
    if (!first.values || first.values->empty()) continue;
    std::vector<FeatureRule*> group;
    std::set<std::string> values(first.values->begin(), first.values->end());
    for (std::size_t k = i + 1; k < schema.features.size(); ++k) {
      FeatureRule& other = schema.features[k];
      if (!other.values || other.values->empty() ||
          !are_similar(*first.values, *other.values, options)) {
        continue;
      }
      values.insert(other.values->begin(), other.values->end());
      group.push_back(&other);
    }
    if (group.empty()) continue;
    group.push_back(&first);
    schema.value_lists[first.name] = {values.begin(), values.end()};
    for (FeatureRule* rule : group) {
      rule->values.reset();
      rule->values_of = first.name;
    }
  }
}

}  // namespace

void infer_counts(const FeatureSummary& feature, FeatureRule& rule) {
  rule.shape.reset();
  rule.value_count.clear();
  if (feature.levels.empty()) return;
  const bool is_fixed =
      std::ranges::all_of(feature.levels, [](const ListSummary& level) {
        return level.least == level.most && level.least > 0;
      });
  if (is_fixed && feature.missing() == 0) {
    rule.shape.emplace();
    for (const ListSummary& level : feature.levels) {
      rule.shape->push_back(level.least);
    }
    return;
  }
  for (const ListSummary& level : feature.levels) {
    ListBounds bounds;
    if (level.least > 0) bounds.min = 1;
    if (level.least == level.most && level.least > 0) {
      bounds = {level.least, level.least};
    }
    rule.value_count.push_back(bounds);
  }
}

FeatureRule infer_feature(const FeatureSummary& feature,
                          const InferOptions& options) {
  FeatureRule rule{.name = feature.name};
  // Nothing is known of a feature that no row has, not even its type.
  if (feature.present == 0) {
    rule.min_count = 0;
    return rule;
  }
  rule.min_count = 1;
  // A share that was seen once is no promise; that no row lacks it may be one.
  if (feature.missing() == 0) rule.min_fraction = 1;
  infer_counts(feature, rule);
  // Texts among numbers are of no type that a rule could hold them to.
  const bool is_mixed = feature.is_typed &&
                        feature.type == ValueType::kString &&
                        feature.integers + feature.floats > 0;
  if (feature.values > 0 && !is_mixed) {
    rule.type = feature.type;
    infer_domain(feature, options, rule);
  }
  if (options.suggests_ranges && feature.type != ValueType::kString &&
      feature.numbers->finite > 0 && rule.domain == Domain::kAny) {
    rule.min = feature.numbers->least;
    rule.max = feature.numbers->most;
  }
  // Those of images where all could be decoded: else the data broke the rule.
  if (options.suggests_ranges && rule.domain == Domain::kImage &&
      feature.images && feature.images->undecoded == 0) {
    for (std::size_t i = 0; i < kImageMeasures; ++i) {
      const ImageCounts::Ends& ends = feature.images->ends[i];
      rule.image[i] = {ends.least, ends.most};
    }
  }
  return rule;
}

Schema infer_schema(const StatisticsSummary& data,
                    const InferOptions& options) {
  Schema schema;
  if (data.rows == 0) schema.dataset.min_rows = 0;
  for (const FeatureSummary& feature : data.features) {
    if (!is_utf8(feature.name)) {
      throw Error(ErrorCode::kDataLoss, "schema",
                  "the name '{}' of a feature is no UTF-8",
                  shown_text(feature.name, 80));
    }
    schema.features.push_back(infer_feature(feature, options));
  }
  share_lists(schema, options);
  return schema;
}

}  // namespace weft::validation
