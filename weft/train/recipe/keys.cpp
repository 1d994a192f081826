#include "weft/train/recipe/keys.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "weft/train/recipe/section_def.h"

namespace weft {

std::vector<RecipeKey> recipe_keys() {
  std::vector<RecipeKey> keys;
  const auto append = [&](const std::string& section, const std::string& entry,
                          const std::vector<OptionSpec>& options) {
    for (const OptionSpec& spec : options) {
      keys.push_back({section, entry, spec});
    }
  };
  for (const RecipeSectionDef* def : sections_in_order()) {
    append(def->name, "", def->options);
    if (def->entries != nullptr) {
      for (const EntryOptions& entry : def->entries()) {
        append(def->name, entry.entry, entry.options);
      }
    }
    for (const SectionTables& tables : def->tables) {
      append(def->name + "." + tables.key, "", tables.options);
    }
  }
  return keys;
}

std::string_view RecipeCall::name() const {
  std::string_view text = entry.entry;
  // npos + 1 is the beginning.
  text.remove_prefix(text.find_last_of(":(") + 1);
  return text.substr(0, text.find(')'));
}

namespace {

void append_calls(const std::string& key, const OptionSpec& spec,
                  std::vector<RecipeCall>& calls) {
  if (spec.calls == nullptr) return;
  for (EntryOptions& entry : spec.calls->entries()) {
    RecipeCall call{key, std::move(entry), spec.calls};
    const bool is_known = std::ranges::any_of(calls, [&](const RecipeCall& c) {
      return c.entry.kind == call.entry.kind && c.name() == call.name();
    });
    // A layer may hold layers, and a key that several entries have is met with
    // each of them.
    if (is_known) continue;
    calls.push_back(std::move(call));
    // It is a copy, as `calls` grows, and may move, while its options are gone
    // through.
    const std::vector<OptionSpec> options = calls.back().entry.options;
    for (const OptionSpec& option : options) append_calls(key, option, calls);
  }
}

// "value codec" as people type it on a command line: "value_codec".
std::string plain(std::string_view text) {
  std::string result(text);
  std::ranges::replace_if(
      result, [](char c) { return c == ' ' || c == '-'; }, '_');
  return result;
}

}  // namespace

std::vector<RecipeCall> recipe_calls() {
  std::vector<RecipeCall> calls;
  for (const RecipeKey& key : recipe_keys()) {
    append_calls(key.path(), key.spec, calls);
  }
  return calls;
}

RecipeHelp recipe_help(std::string_view what) {
  RecipeHelp help;
  std::vector<std::string> known;
  const auto is_meant = [&](std::string_view name) {
    known.emplace_back(name);
    return name == what;
  };
  for (RecipeKey& key : recipe_keys()) {
    // All names are asked, as all are known.
    bool is_found = is_meant(key.section);
    is_found |= is_meant(key.path());
    is_found |= is_meant(key.spec.name);
    is_found |= !key.entry.empty() && is_meant(key.entry);
    // A section's name stands for its keys and those of its tables.
    is_found |= key.section.starts_with(std::string(what) + ".");
    if (is_found) help.keys.push_back(std::move(key));
  }
  for (RecipeCall& call : recipe_calls()) {
    bool is_found = is_meant(call.name());
    // A key says itself what its value may call.
    is_found |= help.keys.empty() && plain(call.entry.kind) == plain(what);
    known.push_back(plain(call.entry.kind));
    if (is_found) help.calls.push_back(std::move(call));
  }
  if (!help.keys.empty() || !help.calls.empty()) return help;
  const std::string near = nearest(what, known);
  throw Error(ErrorCode::kInvalidArgument, "--help",
              "recipes have no key '{}'{}", what,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

std::string allowed_text(const OptionSpec& spec) {
  std::string text(kind_of(spec.value));
  if (!spec.choices.empty()) {
    text = fmt::format("{}", fmt::join(spec.choices, ", "));
  }
  if (const std::string range = to_string(spec.range); !range.empty()) {
    text += ", " + range;
  }
  if (!spec.unit.empty()) text += ", in " + spec.unit;
  for (const auto& [word, number] : spec.words) {
    text += fmt::format("; {}: {}", word, number);
  }
  return text;
}

}  // namespace weft
