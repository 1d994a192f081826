// weft market measure: what a job must say of its program.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/data/fetch.h"
#include "weft/market/enclave.h"
#include "weft/market/work_units.h"

namespace weft::cli {
namespace {

struct MarketMeasureArguments {
  std::string recipe;
  std::string task = "training";
  std::string data;
  std::string store;
  bool as_json = false;
};

void measure(const MarketMeasureArguments& arguments) {
  std::string text;
  std::int64_t units = 1;
  if (arguments.task != "valuation") {
    if (arguments.recipe.empty()) throw CLI::RequiredError("RECIPE");
    text = read_text(arguments.recipe);
    if (arguments.task != "inference") market::check_recipe(text);
    const Recipe recipe = parse_recipe(text, arguments.recipe);
    const DatasetSplits splits = open_data({.name = recipe.data.name,
                                            .folder = arguments.data,
                                            .options = recipe.data.options});
    units = market::units_per_example(recipe, *splits.train, arguments.task);
  }
  const market::Digest measurement =
      market::measurement_of(market::own_program(), text, arguments.task);
  if (!arguments.store.empty()) {
    create_folders(arguments.store);
    write_file(market::stored(arguments.store, measurement), text);
  }
  if (arguments.as_json) {
    return print_json({{"measurement", market::to_hex(measurement)},
                       {"units_per_example", units}});
  }
  fmt::print("measurement={} units_per_example={}\n",
             market::to_hex(measurement), units);
}

void add_market_measure(CLI::App& verb) {
  auto arguments = std::make_shared<MarketMeasureArguments>();
  verb.add_option("RECIPE", arguments->recipe,
                  "what is to be trained or used; a valuation has none");
  verb.add_option("--task", arguments->task, "of the job")
      ->check(CLI::IsMember({"training", "inference", "tryrun", "valuation"}))
      ->capture_default_str();
  verb.add_option("--data", arguments->data,
                  "folder of data like those of the shards, to build the model "
                  "for")
      ->type_name("DIR");
  verb.add_option("--store", arguments->store,
                  "folder where the recipe is put for workers")
      ->type_name("DIR");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { measure(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_measure(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market measure",
             .summary = "Say what a job must ask for to run a recipe",
             .order = 55,
             .add = cli::add_market_measure});
}

}  // namespace weft
