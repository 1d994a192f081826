// weft data: which data sets there are, where they lie, how to get them.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/data/fetch.h"

namespace weft::cli {
namespace {

// Where a data set lies, or "" if nowhere.
std::string place_of(const DatasetDef& def) {
  try {
    return locate_data(def).string();
  } catch (const Error& error) {
    // Data that is not here is an answer; all else is a mistake.
    if (error.code() != ErrorCode::kUnavailable) throw;
    return "";
  }
}

std::string status_of(const DatasetDef& def, const std::string& place) {
  if (!place.empty()) return place;
  // A format may lie anywhere: without a folder, there is no place to name.
  if (!def.is_named_set) return "a format: name its folder with --data";
  return def.sources.empty() ? "not here" : "weft data fetch " + def.name;
}

void list(bool as_json) {
  Json all = Json::array();
  for (const DatasetDef& def : dataset_registry().all()) {
    const std::string place = place_of(def);
    if (as_json) {
      all.push_back({{"name", def.name},
                     {"summary", def.summary},
                     {"folder", place.empty() ? Json(nullptr) : Json(place)},
                     {"can_be_fetched", !def.sources.empty()},
                     {"terms", def.terms}});
    } else {
      fmt::print("{:<14} {}\n{:<14} {}\n", def.name, def.summary, "",
                 status_of(def, place));
    }
  }
  if (as_json) print_json({{"data", all}});
}

void fetch(const std::string& name) {
  const DatasetDef& def = dataset_registry().get(name);
  // Progress goes to standard error, so that the output stays what was asked
  // for.
  fetch_data(def, data_cache(),
             [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
}

void add_data(CLI::App& verb) {
  verb.require_subcommand(1);
  CLI::App* listing =
      verb.add_subcommand("list", "Show the known data sets and their places");
  // CLI11 writes to the variables while it parses, when this function has
  // returned: the callbacks keep them alive.
  auto as_json = std::make_shared<bool>(false);
  listing->add_flag("--json", *as_json, "print one JSON object");
  listing->callback([as_json] { list(*as_json); });

  CLI::App* fetching =
      verb.add_subcommand("fetch", "Download a data set from its publisher");
  auto name = std::make_shared<std::string>();
  fetching->add_option("NAME", *name, "see: weft data list")->required();
  fetching->callback([name] { fetch(*name); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_data(cli::VerbRegistry& verbs) {
  verbs.add({.name = "data",
             .summary = "List and fetch data sets",
             .order = 60,
             .add = cli::add_data});
}

}  // namespace weft
