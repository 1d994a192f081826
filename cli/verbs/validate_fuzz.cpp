// weft validate fuzz --schema FILE RECIPE: whether training takes whatever the
// schema allows.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/train/recipe/recipe.h"
#include "weft/validation/fuzz.h"
#include "weft/validation/limited_process.h"
#include "weft/validation/schema_text.h"
#include "weft/validation/value_text.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using validation::ExampleFormat;
using validation::Examples;

constexpr const char* kValidateFuzzFooter =
    R"text(PROGRAM is a recipe whose data are a table (csv, json_lines), of which three
steps are trained, or any command: {} in it, or its end, is the file of examples.

  weft validate fuzz --schema clicks.toml recipe.toml
  weft validate fuzz --schema clicks.toml --format csv -- python3 step.py {}

A program that fails, hangs or is killed has a finding: the fewest and plainest
examples that make it fail, and the edit of the schema that would exclude them.
Exit codes: 0 nothing was found, 1 findings, 2 bad usage or input.)text";

struct ValidateFuzzArguments {
  std::string schema;
  std::vector<std::string> program;
  std::string format;
  double seconds = 30;
  bool as_json = false;
  validation::FuzzOptions options;
};

// A folder of its own, and the files in it, for as long as it lives.
class FuzzFolder {
 public:
  FuzzFolder() {
    std::string name =
        (fs::temp_directory_path() / "weft-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorCode::kUnavailable, name, "cannot be made");
    }
    path_ = name;
  }
  ~FuzzFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool is_recipe(const std::vector<std::string>& program) {
  return program.size() == 1 && fs::path(program[0]).extension() == ".toml";
}

// What a recipe's data can be made of.
ExampleFormat format_of_recipe(const std::string& path) {
  const std::string name = load_recipe(path).data.name;
  if (name == "csv") return ExampleFormat::kCsv;
  if (name == "json_lines") return ExampleFormat::kJsonLines;
  throw Error(ErrorCode::kUnsupported, path,
              "examples are made for tables, and the recipe has {}", name)
      .hint("set data.name to csv or json_lines");
}

ExampleFormat format_of(const ValidateFuzzArguments& arguments) {
  if (is_recipe(arguments.program)) {
    if (!arguments.format.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "--format",
                  "the recipe says which format its data have");
    }
    return format_of_recipe(arguments.program[0]);
  }
  return arguments.format == "csv" ? ExampleFormat::kCsv
                                   : ExampleFormat::kJsonLines;
}

std::vector<std::string> command_of(const std::vector<std::string>& program,
                                    const fs::path& folder,
                                    const std::string& file) {
  if (is_recipe(program)) {
    return {fs::read_symlink("/proc/self/exe").string(),
            "train",
            program[0],
            "--data",
            file,
            "--out",
            (folder / "run").string(),
            "--threads",
            "1",
            "--check-numerics",
            "--set",
            "train.max_steps=3",
            "--set",
            "data.schema="};
  }
  std::vector<std::string> command = program;
  bool is_named = false;
  for (std::string& word : command) {
    if (word != "{}") continue;
    word = file;
    is_named = true;
  }
  if (!is_named) command.push_back(file);
  return command;
}

// The line that says what went wrong: of a recipe the first, of others the
// last.
std::string message_of(const validation::LimitedResult& result,
                       bool of_recipe) {
  if (result.is_out_of_time) return "out of time";
  std::string_view output = result.output;
  while (!output.empty() &&
         std::isspace(static_cast<unsigned char>(output.back())) != 0) {
    output.remove_suffix(1);
  }
  if (of_recipe) {
    const std::size_t begin = output.find("weft: ");
    if (begin != output.npos) output.remove_prefix(begin);
    output = output.substr(0, output.find('\n'));
  } else if (const auto line = output.rfind('\n'); line != output.npos) {
    output.remove_prefix(line + 1);
  }
  return fmt::format("exit code {}: {}", result.exit_code,
                     validation::shown_text(output));
}

Json finding_json(const validation::FuzzFinding& finding,
                  ExampleFormat format) {
  return {{"message", finding.message},
          {"rows", finding.examples.rows.size()},
          {"examples", text_of(finding.examples, format)},
          {"edit", finding.edit}};
}

void print_report(const validation::FuzzReport& report,
                  const validation::FuzzOptions& options) {
  for (const validation::FuzzFinding& finding : report.findings) {
    fmt::print("{}\n  fails with\n{}{}\n", printable(finding.message),
               printable(text_of(finding.examples, options.format)),
               finding.edit.empty()
                   ? "  no edit of the schema excludes just that: mend the "
                     "program"
                   : "  or let the schema say\n" + printable(finding.edit));
  }
  fmt::print("{} findings in {} runs of {} examples\n", report.findings.size(),
             report.runs, options.examples);
}

void validate_fuzz(ValidateFuzzArguments& arguments) {
  const validation::Schema schema = validation::load_schema(arguments.schema);
  arguments.options.format = format_of(arguments);
  const bool of_recipe = is_recipe(arguments.program);
  const FuzzFolder folder;
  const std::string file =
      (folder.path() / (arguments.options.format == ExampleFormat::kCsv
                            ? "examples.csv"
                            : "examples.jsonl"))
          .string();
  const std::vector<std::string> command =
      command_of(arguments.program, folder.path(), file);
  const validation::ProcessLimits limits{
      .time = std::chrono::milliseconds(
          static_cast<std::int64_t>(1000 * arguments.seconds))};
  const auto program =
      [&](const Examples& examples) -> std::optional<std::string> {
    write_file(file, text_of(examples, arguments.options.format));
    const auto result = validation::run_limited(command, limits);
    if (result.exit_code == 0 && !result.is_out_of_time) return std::nullopt;
    return message_of(result, of_recipe);
  };
  const validation::FuzzReport report =
      validation::fuzz(schema, arguments.options, program);
  if (arguments.as_json) {
    Json findings = Json::array();
    for (const auto& finding : report.findings) {
      findings.push_back(finding_json(finding, arguments.options.format));
    }
    print_json({{"findings", std::move(findings)},
                {"runs", report.runs},
                {"examples", arguments.options.examples},
                {"tightened", to_toml(report.tightened)}});
  } else {
    print_report(report, arguments.options);
  }
  if (!report.findings.empty()) throw Reported{ErrorCode::kNumeric};
}

void add_validate_fuzz(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateFuzzArguments>();
  verb.add_option("--schema", arguments->schema, "what examples must be")
      ->required()
      ->type_name("FILE");
  verb.add_option("PROGRAM", arguments->program,
                  "a recipe, or a command and its arguments")
      ->required();
  verb.add_option("--format", arguments->format,
                  "of examples for a command: csv, or jsonl (jsonl)")
      ->check(CLI::IsMember({"csv", "jsonl"}));
  verb.add_option("--examples", arguments->options.examples,
                  "how many are made at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--environment", arguments->options.environment,
                  "the environment that the program runs in")
      ->type_name("NAME");
  verb.add_option("--seed", arguments->options.seed, "of the examples")
      ->capture_default_str();
  verb.add_option("--findings", arguments->options.most_findings,
                  "stop after so many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  verb.add_option("--seconds", arguments->seconds,
                  "that a run may take before it is ended")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e6));
  verb.add_flag("--json", arguments->as_json,
                "print one JSON object, and nothing else on standard output");
  verb.footer(kValidateFuzzFooter);
  verb.callback([arguments] { validate_fuzz(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate_fuzz(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate fuzz",
             .summary = "Try a program on whatever a schema allows",
             .add = cli::add_validate_fuzz});
}

}  // namespace weft
