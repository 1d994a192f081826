#include "weft/data/registry.h"

#include <algorithm>

namespace weft {

void DatasetRegistry::add(DatasetDef def) {
  WEFT_CHECK(find(def.name) == nullptr, "data set '{}' twice", def.name);
  WEFT_CHECK(def.open != nullptr && def.is_in != nullptr);
  defs_.push_back(std::move(def));
}

void DatasetRegistry::freeze() {
  std::sort(defs_.begin(), defs_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

const DatasetDef* DatasetRegistry::find(std::string_view name) const {
  for (const auto& def : defs_) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

const DatasetDef& DatasetRegistry::get(std::string_view name) const {
  if (const DatasetDef* def = find(name)) return *def;
  std::vector<std::string> known;
  std::string list;
  for (const auto& def : defs_) {
    known.push_back(def.name);
    list += (list.empty() ? "" : ", ") + def.name;
  }
  const std::string near = nearest(name, known);
  Error error(ErrorCode::kInvalidArgument, "data", "unknown data set '{}'{}",
              name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
  throw error.detail("known: " + list);
}

}  // namespace weft
