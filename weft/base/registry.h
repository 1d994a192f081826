// Named entries of one kind: filled once, then frozen and sorted by name.
//
// Threads: immutable after freeze().
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"

namespace weft {
namespace detail {
// Throws Error(kInvalidArgument) with the name nearest to `name`.
[[noreturn]] void throw_unregistered(const std::string& kind,
                                     std::string_view name,
                                     const std::vector<std::string>& known);
}  // namespace detail

// `Def` has a member `name`.
template <class Def>
class Registry {
 public:
  // `kind` names an entry in messages: "value codec".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  const std::string& kind() const { return kind_; }

  // A name is registered once.
  void add(Def def) {
    WEFT_CHECK(find(def.name) == nullptr, "{} '{}' is there twice", kind_,
               def.name);
    defs_.push_back(std::move(def));
  }
  void freeze() {
    std::sort(defs_.begin(), defs_.end(),
              [](const Def& a, const Def& b) { return a.name < b.name; });
  }

  const Def* find(std::string_view name) const {
    // There are few entries, which are looked up as a recipe is read.
    for (const Def& def : defs_) {
      if (def.name == name) return &def;
    }
    return nullptr;
  }
  // Throws Error(kInvalidArgument) with the nearest known name.
  const Def& get(std::string_view name) const {
    if (const Def* def = find(name)) return *def;
    std::vector<std::string> known;
    for (const Def& def : defs_) known.push_back(def.name);
    detail::throw_unregistered(kind_, name, known);
  }
  // All entries, sorted by name once frozen.
  const std::deque<Def>& all() const { return defs_; }

 private:
  std::string kind_;
  std::deque<Def> defs_;  // addresses stay
};

// The names of all entries, in their order.
template <class Def>
std::vector<std::string> names_of(const Registry<Def>& registry) {
  std::vector<std::string> names;
  for (const Def& def : registry.all()) names.push_back(def.name);
  return names;
}

}  // namespace weft
