#include "weft/validation/fuzz.h"

#include <algorithm>

#include "weft/validation/fuzz_edit.h"
#include "weft/validation/schema_diff.h"

namespace weft::validation {
namespace {

// Each run is a process: an example that is not the smallest is better than
// waiting for it.
constexpr std::size_t kMostShrinkRuns = 200;

class FuzzSearch {
 public:
  FuzzSearch(const FuzzOptions& options, const FuzzProgram& program)
      : options_(options), program_(program) {}

  // The first batch that fails, or nothing.
  std::optional<Examples> find(const Schema& schema) {
    std::vector<std::size_t> counts = {options_.examples, 1};
    const std::int64_t least = schema.dataset.min_rows.value_or(1);
    if (least == 0) counts.push_back(0);
    for (const std::size_t count : counts) {
      if (static_cast<std::int64_t>(count) < least) continue;
      // One example must not be as others are on average.
      const std::size_t tries = count == 1 ? 3 : 1;
      for (std::size_t i = 0; i < tries; ++i) {
        Examples examples =
            make_examples(schema, count, options_.seed + i,
                          options_.environment, options_.format);
        if (fails(examples)) return examples;
      }
    }
    return std::nullopt;
  }

  Examples shrink(const Schema& schema, Examples examples) {
    shrink_runs_ = 0;
    shrink_rows(schema, examples);
    for (std::size_t row = 0; row < examples.rows.size(); ++row) {
      for (std::size_t i = 0; i < examples.names.size(); ++i) {
        shrink_item(schema, row, i, examples);
      }
    }
    fails(examples);  // its message is told
    return examples;
  }

  bool fails(const Examples& examples) {
    ++runs_;
    std::optional<std::string> message = program_(examples);
    if (message) message_ = std::move(*message);
    return message.has_value();
  }

  const std::string& message() const { return message_; }
  std::size_t runs() const { return runs_; }

 private:
  // As long as half of the rows, a quarter, … can be left out.
  void shrink_rows(const Schema& schema, Examples& examples) {
    const auto least = static_cast<std::size_t>(
        std::max<std::int64_t>(schema.dataset.min_rows.value_or(1), 0));
    for (std::size_t part = examples.rows.size() / 2; part > 0;) {
      bool is_smaller = false;
      for (std::size_t begin = 0; begin < examples.rows.size();) {
        const std::size_t end = std::min(begin + part, examples.rows.size());
        Examples fewer = examples;
        fewer.rows.erase(
            fewer.rows.begin() + static_cast<std::ptrdiff_t>(begin),
            fewer.rows.begin() + static_cast<std::ptrdiff_t>(end));
        if (fewer.rows.size() >= least && still_fails(fewer)) {
          examples = std::move(fewer);
          is_smaller = true;
        } else {
          begin = end;
        }
      }
      if (!is_smaller || part > examples.rows.size()) part /= 2;
    }
  }

  void shrink_item(const Schema& schema, std::size_t row, std::size_t place,
                   Examples& examples) {
    const FeatureRule& rule = *schema.find(examples.names[place]);
    Examples plainer = examples;
    auto& item = plainer.rows[row][place];
    // A feature that may be missing is left out, if that is not what fails.
    if (!rule.is_required() && item) {
      item.reset();
      if (still_fails(plainer)) {
        examples = std::move(plainer);
        return;
      }
    }
    item = plain_item(schema, rule);
    if (item == examples.rows[row][place]) return;
    if (still_fails(plainer)) examples = std::move(plainer);
  }

  bool still_fails(const Examples& examples) {
    if (++shrink_runs_ > kMostShrinkRuns) return false;
    return fails(examples);
  }

  const FuzzOptions& options_;
  const FuzzProgram& program_;
  std::string message_;
  std::size_t runs_ = 0;
  std::size_t shrink_runs_ = 0;
};

// Whether the program fails with this in place of the value of a row.
bool fails_with(FuzzSearch& search, Examples examples, std::size_t row,
                std::size_t place, const std::optional<ExampleItem>& item) {
  examples.rows[row][place] = item;
  return search.fails(examples);
}

// Tightens the schema by what excludes the failing examples; what it changed.
std::string tighten(Schema& schema, const Examples& examples,
                    FuzzSearch& search) {
  // How many rows there are is itself what fails where all else is plain.
  std::string edit;
  for (std::size_t row = 0; row < examples.rows.size(); ++row) {
    for (std::size_t i = 0; i < examples.names.size(); ++i) {
      FeatureRule& rule = *schema.find(examples.names[i]);
      const std::optional<ExampleItem>& item = examples.rows[row][i];
      const ExampleItem plain = plain_item(schema, rule);
      if (item == plain || fails_with(search, examples, row, i, plain)) {
        continue;
      }
      const FeatureRule before = rule;
      exclude(schema, rule, item, [&](const ExampleItem& other) {
        return fails_with(search, examples, row, i, other);
      });
      if (rule != before) edit += diff_text(before, rule);
    }
  }
  if (!edit.empty()) return edit;
  const auto rows = static_cast<std::int64_t>(examples.rows.size());
  if (rows >= schema.dataset.min_rows.value_or(1) && rows <= 1) {
    Examples more = examples;
    while (more.rows.size() < 2) {
      Example row;
      for (const std::string& name : examples.names) {
        row.emplace_back(plain_item(schema, *schema.find(name)));
      }
      more.rows.push_back(std::move(row));
      if (search.fails(more)) continue;
      schema.dataset.min_rows = static_cast<std::int64_t>(more.rows.size());
      return fmt::format("dataset.min_rows = {}\n", *schema.dataset.min_rows);
    }
  }
  return edit;
}

}  // namespace

FuzzReport fuzz(const Schema& schema, const FuzzOptions& options,
                const FuzzProgram& program) {
  const std::int64_t least = schema.dataset.min_rows.value_or(1);
  if (static_cast<std::int64_t>(options.examples) < least) {
    throw Error(ErrorCode::kInvalidArgument, "fuzz",
                "a batch of {} examples is never tried: dataset.min_rows of "
                "the schema is {}",
                options.examples, least)
        .hint(fmt::format("--examples {0}, or count={0} in Python", least));
  }
  FuzzReport report{.findings = {}, .tightened = schema};
  FuzzSearch search(options, program);
  while (report.findings.size() < options.most_findings) {
    std::optional<Examples> failing = search.find(report.tightened);
    if (!failing) break;
    FuzzFinding finding{
        .message = {},
        .examples = search.shrink(report.tightened, std::move(*failing)),
        .edit = {}};
    finding.message = search.message();
    finding.edit = tighten(report.tightened, finding.examples, search);
    report.findings.push_back(std::move(finding));
    // Nothing would keep the same from failing again.
    if (report.findings.back().edit.empty()) break;
  }
  report.runs = search.runs();
  return report;
}

}  // namespace weft::validation
