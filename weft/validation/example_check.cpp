#include "weft/validation/example_check.h"

#include <algorithm>

namespace weft::validation {
namespace {

// The schema as far as it speaks of single rows.
Schema of_single_rows(const Schema& schema) {
  Schema single = schema;
  single.dataset = {};
  for (FeatureRule& rule : single.features) {
    // Where a share of the rows may lack it, this one may.
    if (rule.min_fraction && *rule.min_fraction < 1) rule.min_fraction.reset();
    rule.min_count.reset();
    rule.min_distinct.reset();
    rule.max_distinct.reset();
    rule.drift.clear();
    rule.skew.clear();
    // A share of the values that may be others says nothing of one.
    if (rule.min_domain_mass < 1) rule.min_domain_mass = 0;
    // Neither does a share of the words.
    rule.vocabulary.clear();
    rule.min_coverage = 1;
    rule.forget_moments();
  }
  return single;
}

void add_row(const ColumnBatch& row, std::uint64_t number,
             const ExampleCheckOptions& options, StruckRows& struck) {
  ++struck.count;
  if (struck.first.size() < options.most_rows) struck.first.push_back(number);
  struck.statistics.add(row);
}

}  // namespace

std::map<std::pair<std::string, std::string>, StruckRows> check_examples(
    const Schema& schema, RowSource& rows, const ExampleCheckOptions& options) {
  const Schema single = of_single_rows(schema);
  const StatisticsOptions counted = statistics_options(single);
  std::map<std::pair<std::string, std::string>, StruckRows> found;
  std::uint64_t number = 0;
  ColumnBatch batch;
  while (rows.next(batch)) {
    for (std::int64_t i = 0; i < batch.rows; ++i) {
      const ColumnBatch row = select_rows(batch, std::span(&i, 1));
      Statistics statistics(counted);
      statistics.add(row);
      const StatisticsSummary summary = summarize(statistics);
      const CheckReport report =
          check(single, {.data = summary, .environment = options.environment});
      ++number;
      for (const Anomaly& anomaly : report.anomalies) {
        add_row(row, number, options, found[{anomaly.feature, anomaly.kind}]);
      }
    }
  }
  return found;
}

}  // namespace weft::validation
