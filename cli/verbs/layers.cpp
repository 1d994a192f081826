// weft layers: what a model of a recipe can be made of.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/recipe_help.h"
#include "cli/verb.h"

#include "weft/nn/layer_def.h"

namespace weft::cli {
namespace {

struct LayersArguments {
  std::string name;
  bool as_json = false;
};

EntryOptions entry_of(const LayerDef& layer) {
  return {layer.name, layer.summary, layer.options, layer_registry().kind()};
}

void print_one(const LayerDef& layer) {
  fmt::print("{}: {}\n{} -> {}\n", layer.name, layer.summary, layer.takes,
             layer.makes);
  if (!layer.options.empty()) fmt::print("\n");
  print_options(entry_of(layer), 0);
}

void print_all(const std::vector<const LayerDef*>& layers) {
  Json all = Json::array();
  for (const LayerDef* layer : layers) {
    Json one = entry_json(entry_of(*layer));
    one["takes"] = layer->takes;
    one["makes"] = layer->makes;
    all.push_back(std::move(one));
  }
  print_json(all);
}

void run(const LayersArguments& arguments) {
  std::vector<const LayerDef*> layers;
  if (arguments.name.empty()) {
    for (const LayerDef& layer : layer_registry().all()) {
      layers.push_back(&layer);
    }
  } else {
    layers.push_back(&layer_registry().get(arguments.name));
  }
  if (arguments.as_json) return print_all(layers);
  if (!arguments.name.empty()) return print_one(*layers[0]);
  for (const LayerDef* layer : layers) {
    fmt::print("{:<18} {}\n", layer->name, layer->summary);
  }
}

void add_layers(CLI::App& verb) {
  auto arguments = std::make_shared<LayersArguments>();
  verb.add_option("NAME", arguments->name,
                  "one layer: what it takes and makes, and its options");
  verb.add_flag("--json", arguments->as_json, "print one JSON array");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_layers(cli::VerbRegistry& verbs) {
  verbs.add({.name = "layers",
             .summary = "Say what layers a recipe's model can be made of",
             .order = 75,
             .add = cli::add_layers});
}

}  // namespace weft
