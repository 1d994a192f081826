#include "weft/gate/gate_file.h"

#include <nlohmann/json.hpp>

#include "weft/base/file.h"
#include "weft/gate/labels.h"
#include "weft/train/recipe/section_reader.h"
#include "weft/train/recipe/toml_text.h"

namespace weft {
namespace {

constexpr std::size_t kMostGateFileBytes = std::size_t{1} << 20;

constexpr std::size_t kMostGateNameBytes = 100;

constexpr CallKind kConditionKind{
    .canonical =
        [](std::string_view text) {
          return to_string(parse_gate_condition(text));
        },
    .entries = nullptr};

const OptionSpec& gate_option(std::string_view name) {
  static const std::vector<OptionSpec> kOptions = gate_options();
  for (const OptionSpec& option : kOptions) {
    if (option.name == name) return option;
  }
  WEFT_CHECK(false, "no key '{}'", name);
}

GateTerms terms_of(const Options& options) {
  return {.condition =
              parse_gate_condition(option<std::string>(options, "condition")),
          .reliability = option<double>(options, "reliability"),
          .mode = gate_mode(option<std::string>(options, "mode")),
          .adaptivity =
              adaptivity_level(option<std::string>(options, "adaptivity")),
          .steps = option<std::int64_t>(options, "steps"),
          .difference = option<double>(options, "difference"),
          .is_difference_known = option<bool>(options, "difference_known")};
}

// Why terms make no sense together; nothing if they do.
std::string_view problem_of(const GateTerms& terms) {
  return terms.is_difference_known && terms.difference == 0
             ? "there is no 'gate.difference' to be known"
             : "";
}

class GateReader {
 public:
  explicit GateReader(SectionReader& section) : section_(section) {}

  std::string text(std::string_view name) {
    return std::get<std::string>(section_.read(gate_option(name)));
  }
  GateTerms terms() {
    Options options{
        {"condition", section_.require_text(gate_option("condition"))}};
    for (const char* name : {"reliability", "mode", "adaptivity", "steps",
                             "difference", "difference_known"}) {
      options[name] = section_.read(gate_option(name));
    }
    return terms_of(options);
  }
  GateConfig config() {
    GateConfig config{.terms = terms(),
                      .points = text("points"),
                      .recipe = text("recipe"),
                      .part = text("part"),
                      .schema = text("schema"),
                      .labels = text("labels"),
                      .results = text("results"),
                      .notify = std::get<std::vector<std::string>>(
                          section_.read(gate_option("notify")))};
    if (config.points.empty() == config.recipe.empty()) {
      throw section_.error(
          "points", nullptr,
          "a gate takes its points from a table ('gate.points') or from a "
          "recipe's data ('gate.recipe'): one of them must be given");
    }
    if (const auto problem = problem_of(config.terms); !problem.empty()) {
      throw section_.error("difference_known", nullptr, std::string(problem));
    }
    return config;
  }

 private:
  SectionReader& section_;
};

}  // namespace

std::vector<OptionSpec> gate_options() {
  return {
      {.name = "ledger",
       .value = std::string(),
       .summary = "where verdicts are kept: a file, or "
                  "postgresql://USER@HOST/DATABASE"},
      {.name = "name",
       .value = std::string(),
       .summary = "of the gate in its ledger; empty: the file's own"},
      {.name = "key",
       .value = std::string(),
       .summary = "file of the key that labels are sealed with; empty: "
                  "WEFT_GATE_KEY has it"},
      {.name = "condition",
       .value = std::string(),
       .summary = "what a new model must meet: 'n - o > 0.02 +/- 0.01'",
       .calls = &kConditionKind},
      {.name = "reliability",
       .value = GateTerms().reliability,
       .summary = "with what probability no verdict of a test set is wrong",
       .range = {.least = 0,
                 .most = 1,
                 .is_open_below = true,
                 .is_open_above = true}},
      {.name = "mode",
       .value = std::string(to_string(GateTerms().mode)),
       .summary = "what is never wrong: fp-free, that a model passes; "
                  "fn-free, that it fails",
       .choices = {"fp-free", "fn-free"}},
      {.name = "adaptivity",
       .value = std::string(to_string(GateTerms().adaptivity)),
       .summary = "what the developer learns: none; first-change, verdicts up "
                  "to the first pass; full, all of them",
       .choices = {"none", "first-change", "full"}},
      {.name = "steps",
       .value = GateTerms().steps,
       .summary = "verdicts that rest on one test set",
       .range = {.least = 1, .most = 1e6}},
      {.name = "difference",
       .value = GateTerms().difference,
       .summary = "the share of points on which successive models are expected "
                  "to differ at most; 0: nothing is expected",
       .range = {.least = 0, .most = 1, .is_open_above = true},
       .unit = "share"},
      {.name = "difference_known",
       .value = GateTerms().is_difference_known,
       .summary = "'difference' is a fact, and needs not be tested"},
      {.name = "points",
       .value = std::string(),
       .summary = "a table (.csv, or .jsonl of an object a line) with a "
                  "column 'id', and what a model is given"},
      {.name = "recipe",
       .value = std::string(),
       .summary = "a recipe, of whose data the points are a part"},
      {.name = "part",
       .value = GateConfig().part,
       .summary = "which part of the recipe's data",
       .choices = {"test", "valid", "train"}},
      {.name = "schema",
       .value = std::string(),
       .summary = "a schema of weft validate that the points must meet before "
                  "a test set is drawn of them; in its environment gate where "
                  "it has one"},
      {.name = "labels",
       .value = std::string("data"),
       .summary = "where labels come from: data (they stand beside the "
                  "points), file(PATH), folder(PATH) that people answer in, "
                  "command([PROGRAM, …])",
       .calls = calls_of<label_source_registry>()},
      {.name = "results",
       .value = std::string(),
       .summary = "file that verdicts are added to with all that was counted"},
      {.name = "notify",
       .value = std::vector<std::string>(),
       .summary = "command that gets each verdict with all that was counted"}};
}

GateTerms gate_terms(const Options& given) {
  GateTerms terms = terms_of(complete(gate_options(), given, "gate"));
  if (const auto problem = problem_of(terms); !problem.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "gate", "{}", problem);
  }
  return terms;
}

GateFile parse_gate_file(std::string_view text,
                         const std::filesystem::path& path) {
  const std::string where = path.string();
  const toml::table root = parse_toml(text, where);
  const RecipeSource source(where);
  SectionReader sections(&root, "", source);
  const toml::table* table = sections.find_table("gate");
  sections.refuse_unknown();
  if (table == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, where, "has no section [gate]");
  }
  SectionReader section = sections.inner(table, "gate");
  GateReader reader(section);
  GateFile file;
  file.path = path;
  file.ledger = reader.text("ledger");
  file.name = reader.text("name");
  if (file.name.empty()) file.name = path.stem().string();
  // Files in which people answer are called so, too.
  if (file.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.") != std::string::npos ||
      file.name.size() > kMostGateNameBytes) {
    throw section.error("name", section.find("name"),
                        fmt::format("a gate is called by up to {} letters, "
                                    "digits, '-', '_' and '.', not '{}'",
                                    kMostGateNameBytes, file.name));
  }
  if (const std::string key = reader.text("key"); !key.empty()) {
    file.key = file.folder() / key;
  }
  file.config = reader.config();
  section.refuse_unknown();
  if (file.ledger.empty()) file.ledger = path.stem().string() + ".ledger";
  if (file.ledger.find("://") == std::string::npos) {
    file.ledger = (file.folder() / file.ledger).string();
  }
  return file;
}

GateFile load_gate_file(const std::filesystem::path& path) {
  return parse_gate_file(read_text(path, kMostGateFileBytes), path);
}

std::string to_json(const GateConfig& config) {
  const GateTerms& terms = config.terms;
  return nlohmann::json{{"condition", to_string(terms.condition)},
                        {"reliability", terms.reliability},
                        {"mode", to_string(terms.mode)},
                        {"adaptivity", to_string(terms.adaptivity)},
                        {"steps", terms.steps},
                        {"difference", terms.difference},
                        {"difference_known", terms.is_difference_known},
                        {"points", config.points},
                        {"recipe", config.recipe},
                        {"part", config.part},
                        {"schema", config.schema},
                        {"labels", config.labels},
                        {"results", config.results},
                        {"notify", config.notify}}
      .dump();
}

GateConfig gate_config_from_json(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return {.terms = {.condition = parse_gate_condition(
                          json.at("condition").get<std::string>()),
                      .reliability = json.at("reliability"),
                      .mode = gate_mode(json.at("mode").get<std::string>()),
                      .adaptivity = adaptivity_level(
                          json.at("adaptivity").get<std::string>()),
                      .steps = json.at("steps"),
                      .difference = json.at("difference"),
                      .is_difference_known = json.at("difference_known")},
            .points = json.at("points"),
            .recipe = json.at("recipe"),
            .part = json.at("part"),
            .schema = json.at("schema"),
            .labels = json.at("labels"),
            .results = json.at("results"),
            .notify = json.at("notify")};
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kDataLoss, "gate",
                "the ledger holds no configuration of a gate: {}",
                error.what());
  }
}

}  // namespace weft
