#include "cli/recipe_help.h"

#include <fmt/core.h>

#include "weft/train/recipe/keys.h"

namespace weft::cli {
namespace {

std::vector<EntryOptions> calls_of(const RecipeKey& key) {
  const CallKind* calls = key.spec.calls;
  return calls == nullptr ? std::vector<EntryOptions>() : calls->entries();
}

}  // namespace

Json entry_json(const EntryOptions& call) {
  Json options = Json::array();
  for (const OptionSpec& spec : call.options) {
    options.push_back({{"name", spec.name},
                       {"default", to_string(spec.value)},
                       {"allowed", allowed_text(spec)},
                       {"summary", spec.summary}});
  }
  return {{"name", call.entry},
          {"kind", call.kind},
          {"summary", call.summary},
          {"options", options}};
}

void print_options(const EntryOptions& call, int indent) {
  for (const OptionSpec& spec : call.options) {
    fmt::print("{:{}}{} = {}: {} ({})\n", "", indent, spec.name,
               to_string(spec.value), spec.summary, allowed_text(spec));
  }
}

namespace {

Json as_json(const RecipeKey& key) {
  Json calls = Json::array();
  for (const EntryOptions& call : calls_of(key))
    calls.push_back(entry_json(call));
  return {{"key", key.path()},
          {"section", key.section},
          {"entry", key.entry},
          {"default", to_string(key.spec.value)},
          {"allowed", allowed_text(key.spec)},
          {"summary", key.spec.summary},
          {"calls", calls}};
}

void print_key(const RecipeKey& key) {
  const std::string owner =
      key.entry.empty() ? "" : fmt::format("   (of {})", key.entry);
  fmt::print("{} = {}{}\n    {}\n    {}\n", key.path(),
             to_string(key.spec.value), owner, key.spec.summary,
             allowed_text(key.spec));
  for (const EntryOptions& call : calls_of(key)) {
    fmt::print("    {}: {}\n", call.entry, call.summary);
    print_options(call, 8);
  }
}

void print_call(const RecipeCall& call) {
  fmt::print("{}   ({}, in {})\n    {}\n", call.name(), call.entry.kind,
             call.key, call.entry.summary);
  print_options(call.entry, 4);
}

RecipeHelp help_of(const std::string& what) {
  if (what == "recipe") return {.keys = recipe_keys(), .calls = {}};
  return recipe_help(what);
}

}  // namespace

void print_recipe_help(const std::string& what, bool as_json_array) {
  const RecipeHelp help = help_of(what);
  if (as_json_array) {
    Json all = Json::array();
    for (const RecipeKey& key : help.keys) all.push_back(as_json(key));
    for (const RecipeCall& call : help.calls) {
      all.push_back(entry_json(call.entry));
    }
    print_json(all);
    return;
  }
  for (const RecipeKey& key : help.keys) print_key(key);
  for (const RecipeCall& call : help.calls) print_call(call);
}

}  // namespace weft::cli
