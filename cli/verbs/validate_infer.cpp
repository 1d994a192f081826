// weft validate infer DATA: a first schema, to be reviewed.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/validation.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/validation/infer.h"
#include "weft/validation/schema_text.h"

namespace weft::cli {
namespace {

struct ValidateInferArguments {
  ValidateData data;
  validation::InferOptions options;
  std::vector<std::string> environments;
  std::string out;
};

void validate_infer(const ValidateInferArguments& arguments) {
  // What somebody has reviewed is not written over.
  if (!arguments.out.empty() && std::filesystem::exists(arguments.out)) {
    throw Error(ErrorCode::kInvalidArgument, arguments.out,
                "the file is there already")
        .hint("weft validate accept changes a schema to allow other data");
  }
  const validation::StatisticsSummary data = validation::summarize(
      validation::statistics_of(arguments.data.rows, arguments.data.options));
  check_images_are_there(data, arguments.data);
  validation::Schema schema = infer_schema(data, arguments.options);
  schema.default_environments = arguments.environments;
  const std::string text = fmt::format(
      "# What {} of {} rows held; to be reviewed.\n\n{}",
      printable(arguments.data.rows.data),
      grouped(static_cast<std::int64_t>(data.rows)), to_toml(schema));
  if (arguments.out.empty()) {
    fmt::print("{}", text);
    return;
  }
  write_file(arguments.out, text);
  fmt::print("{}: {} features\n", printable(arguments.out),
             schema.features.size());
}

void add_validate_infer(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateInferArguments>();
  add_data_options(verb, arguments->data);
  add_image_option(verb, arguments->data);
  verb.add_option("-o,--out", arguments->out,
                  "where to write the schema (standard output)")
      ->type_name("FILE");
  verb.add_option("--environments", arguments->environments,
                  "where such data come from, as training,serving")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  verb.add_option("--most-values", arguments->options.most_values,
                  "texts with as many different values are a list of them")
      ->check(CLI::Range(0, 4096));
  verb.add_flag("--ranges", arguments->options.suggests_ranges,
                "the range of numbers that were seen as bounds, and with "
                "--images that of sizes; to be looked at");
  verb.callback([arguments] { validate_infer(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate_infer(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate infer",
             .summary = "Write a first schema, from what data hold",
             .add = cli::add_validate_infer});
}

}  // namespace weft
