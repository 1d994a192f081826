// Sections that name an entry of a registry and have its options.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "weft/base/call_reader.h"
#include "weft/train/recipe/section_def.h"

namespace weft {

// What a section reads first: the entry's name, which decides what else it may
// hold. `name` is the default; without one the key must be there.
template <class Def>
const Def& read_entry(SectionReader& section, const Registry<Def>& registry,
                      std::string& name) {
  const OptionSpec spec{.name = "name", .value = name, .summary = ""};
  name = name.empty() ? section.require_text(spec)
                      : std::get<std::string>(section.read(spec));
  return section.blame("name",
                       [&]() -> const Def& { return registry.get(name); });
}

// Whether the section names no entry, but what a program gives.
inline bool names_object(SectionReader& section) {
  const toml::node* name = section.find("name");
  return name != nullptr && name->is_string() &&
         name->as_string()->get() == kGivenObject;
}

}  // namespace weft
