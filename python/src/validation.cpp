// What weft.validation is made of: JSON and the text of schemas go over, and
// the package makes objects of them.
#include <optional>
#include <pybind11/functional.h>
#include <sstream>

#include "python/src/bind.h"

#include "weft/validation/fuzz.h"
#include "weft/validation/infer.h"
#include "weft/validation/json_rows.h"
#include "weft/validation/report_json.h"
#include "weft/validation/schema_edit.h"

namespace weft::python {
namespace {

using validation::ExampleFormat;
using validation::StatisticsSummary;

// Rows as lines of JSON, or a file or data set by its name.
struct GivenData {
  std::optional<std::string> lines;
  std::string name;
};

StatisticsSummary summary_of_given(
    const GivenData& data, const validation::StatisticsOptions& options) {
  if (!data.lines) {
    return summarize(validation::statistics_of({.data = data.name}, options));
  }
  validation::JsonRows rows(std::make_unique<std::istringstream>(*data.lines),
                            "rows");
  validation::Statistics statistics(options);
  validation::ColumnBatch batch;
  while (rows.next(batch)) statistics.add(batch);
  return summarize(statistics);
}

std::string validation_statistics(const GivenData& data,
                                  const std::string& weight,
                                  const std::vector<std::string>& slices,
                                  const std::string& label,
                                  const std::set<std::string>& images) {
  return validation::to_json(summary_of_given(data, {.images = images,
                                                     .weight = weight,
                                                     .slices = slices,
                                                     .label = label}))
      .dump();
}

std::string validation_infer(const GivenData& data, bool suggests_ranges,
                             const std::vector<std::string>& environments,
                             const std::set<std::string>& images) {
  validation::Schema schema =
      infer_schema(summary_of_given(data, {.images = images}),
                   {.suggests_ranges = suggests_ranges});
  schema.default_environments = environments;
  return to_toml(schema);
}

// The report, and the schema that allows the data.
std::pair<std::string, std::string> validation_check(
    const std::string& text, const GivenData& data,
    const std::optional<GivenData>& previous,
    const std::optional<GivenData>& serving, const std::string& environment) {
  const validation::Schema schema = validation::parse_schema(text, "schema");
  const auto options = statistics_options(schema);
  const StatisticsSummary rows = summary_of_given(data, options);
  std::optional<StatisticsSummary> before;
  std::optional<StatisticsSummary> served;
  if (previous) before = summary_of_given(*previous, options);
  if (serving) served = summary_of_given(*serving, options);
  const validation::CheckReport report =
      check(schema, {.data = rows,
                     .previous = before ? &*before : nullptr,
                     .serving = served ? &*served : nullptr,
                     .environment = environment});
  return {validation::to_json(report).dump(),
          validation::edit_schema(text, "schema", report.repaired)};
}

std::string validation_examples(const std::string& text, std::size_t count,
                                std::uint64_t seed,
                                const std::string& environment) {
  return text_of(make_examples(validation::parse_schema(text, "schema"), count,
                               seed, environment, ExampleFormat::kJsonLines),
                 ExampleFormat::kJsonLines);
}

// `step` is given lines of JSON, and answers what went wrong, if anything did.
std::string validation_fuzz(
    const std::string& text, std::size_t examples, std::uint64_t seed,
    const std::string& environment, std::size_t most_findings,
    const std::function<std::optional<std::string>(std::string)>& step) {
  const validation::FuzzReport report =
      validation::fuzz(validation::parse_schema(text, "schema"),
                       {.examples = examples,
                        .seed = seed,
                        .environment = environment,
                        .most_findings = most_findings},
                       [&](const validation::Examples& rows) {
                         return step(text_of(rows, ExampleFormat::kJsonLines));
                       });
  validation::Json findings = validation::Json::array();
  for (const validation::FuzzFinding& finding : report.findings) {
    findings.push_back(
        {{"message", finding.message},
         {"examples", text_of(finding.examples, ExampleFormat::kJsonLines)},
         {"edit", finding.edit}});
  }
  const validation::Json all{{"findings", std::move(findings)},
                             {"runs", report.runs},
                             {"tightened", to_toml(report.tightened)}};
  return all.dump();
}

}  // namespace

void bind_validation(py::module_& module) {
  py::class_<GivenData>(module, "_GivenData")
      .def(py::init([](std::optional<std::string> lines, std::string name) {
        return GivenData{std::move(lines), std::move(name)};
      }));
  const auto nogil = py::call_guard<py::gil_scoped_release>();
  module.def("validation_statistics", validation_statistics, nogil);
  module.def("validation_infer", validation_infer, nogil);
  module.def("validation_check", validation_check, nogil);
  module.def("validation_examples", validation_examples, nogil);
  module.def("validation_fuzz", validation_fuzz);
}

}  // namespace weft::python
