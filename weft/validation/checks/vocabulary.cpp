// Whether enough of the words of texts are in the vocabulary that the schema
// names.
#include "weft/validation/vocabulary.h"

#include <algorithm>

#include "weft/validation/check.h"

namespace weft {
namespace {

using validation::FeatureCheck;
using validation::FeatureRule;

// The words that are not in it, the most frequent first, as far as the values
// are known.
std::vector<std::string> strangers_of(const FeatureCheck& feature,
                                      const std::vector<std::string>& words) {
  const validation::Vocabulary vocabulary(words);
  std::map<std::string, std::uint64_t> counts;
  for (const validation::ValueCount& value : feature.seen.counts) {
    for (const std::string& word : vocabulary.unknown(value.text)) {
      counts[word] += value.count;
    }
  }
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [word, count] : counts) order.emplace_back(count, word);
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::string> strangers;
  for (const auto& [count, word] : order) strangers.push_back(word);
  return strangers;
}

void forget_vocabulary(FeatureRule& rule) {
  rule.vocabulary.clear();
  rule.min_coverage = 1;
}

void check_vocabulary(FeatureCheck& feature) {
  FeatureRule& rule = feature.rule;
  if (rule.vocabulary.empty()) return;
  if (!feature.seen.words) {
    forget_vocabulary(rule);
    return feature.report(
        "low_coverage", "words that nobody has looked for",
        "these statistics were kept without the vocabulary: count the data "
        "with the schema");
  }
  const validation::WordCounts& seen = *feature.seen.words;
  const double coverage = seen.coverage();
  if (coverage >= rule.min_coverage) return;
  const std::string detail = fmt::format(
      "{} of {} words ({}) are in the vocabulary, and {:g} % are due; not: {}",
      seen.known, seen.words, validation::share_text(coverage),
      100 * rule.min_coverage,
      validation::listed(
          strangers_of(feature, feature.schema.value_lists[rule.vocabulary])));
  rule.min_coverage = validation::share_below(coverage);
  if (rule.min_coverage == 0) forget_vocabulary(rule);
  feature.report("low_coverage", "words that are not in the vocabulary",
                 detail);
}

}  // namespace

void register_check_vocabulary(validation::FeatureCheckRegistry& registry) {
  registry.add({.name = "vocabulary",
                .order = 67,
                .kinds = {{"low_coverage",
                           "a smaller share of words than min_coverage is in "
                           "the vocabulary"}},
                .check = check_vocabulary});
}

}  // namespace weft
