// weft validate accept DATA --schema FILE: changes the schema so that it allows
// these data.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/validation.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/validation/schema_edit.h"

namespace weft::cli {
namespace {

struct ValidateAcceptArguments {
  ValidateData data;
  ValidateAgainst against;
  std::vector<std::string> features;  // none: all, and the data as a whole
};

// The rules of the features that were named, and others as they were.
validation::Schema accept_some(const validation::Schema& before,
                               const validation::Schema& after,
                               const std::vector<std::string>& features) {
  validation::Schema accepted = before;
  for (const std::string& name : features) {
    const validation::FeatureRule* rule = after.find(name);
    if (rule == nullptr) {
      throw Error(ErrorCode::kInvalidArgument, "--feature",
                  "neither the schema nor the data have '{}'", name);
    }
    if (validation::FeatureRule* own = accepted.find(name)) {
      *own = *rule;
    } else {
      accepted.features.push_back(*rule);
    }
    const auto list = after.value_lists.find(rule->values_of);
    if (list != after.value_lists.end()) {
      accepted.value_lists[list->first] = list->second;
    }
  }
  return accepted;
}

void validate_accept(const ValidateAcceptArguments& arguments) {
  const std::string& file = arguments.against.schema;
  const std::string text = read_text(file);
  const validation::Schema schema = validation::parse_schema(text, file);
  ValidateChecked checked =
      check_data(arguments.data, schema, arguments.against);
  validation::CheckReport& report = checked.report;
  validation::Schema accepted = report.repaired;
  if (!arguments.features.empty()) {
    accepted = accept_some(schema, report.repaired, arguments.features);
    std::erase_if(report.anomalies, [&](const validation::Anomaly& anomaly) {
      return std::ranges::find(arguments.features, anomaly.feature) ==
             arguments.features.end();
    });
  }
  if (accepted != schema) {
    write_file(file, edit_schema(text, file, accepted));
  }
  fmt::print("{}{}: {} anomalies accepted\n", anomalies_text(report),
             printable(file), report.anomalies.size());
}

void add_validate_accept(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateAcceptArguments>();
  add_data_options(verb, arguments->data);
  add_schema_options(verb, arguments->against);
  verb.add_option("--feature", arguments->features,
                  "what concerns these features (everything)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  verb.callback([arguments] { validate_accept(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate_accept(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate accept",
             .summary = "Change a schema so that it allows data",
             .add = cli::add_validate_accept});
}

}  // namespace weft
