#include "weft/optim/optimizer.h"

#include <algorithm>

namespace weft {

std::vector<Value> Optimizer::scalars(const Value& lr, const Value&) const {
  return {lr};
}

void OptimizerRegistry::add(OptimizerDef def) {
  WEFT_CHECK(find(def.name) == nullptr, "optimizer '{}' is there twice",
             def.name);
  WEFT_CHECK(def.make != nullptr);
  defs_.push_back(std::move(def));
}

void OptimizerRegistry::freeze() {
  std::sort(defs_.begin(), defs_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

const OptimizerDef* OptimizerRegistry::find(std::string_view name) const {
  for (const OptimizerDef& def : defs_) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

const OptimizerDef& OptimizerRegistry::get(std::string_view name) const {
  if (const OptimizerDef* def = find(name)) return *def;
  std::vector<std::string> names;
  std::string list;
  for (const OptimizerDef& def : defs_) {
    names.push_back(def.name);
    list += (list.empty() ? "" : ", ") + def.name;
  }
  const std::string near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument, "optimizer", "no optimizer '{}'{}",
              name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
      .detail("optimizers: " + list);
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          const Options& options) {
  const OptimizerDef& def = optimizer_registry().get(name);
  return def.make(complete(def.options, options, "optimizer " + def.name));
}

void require_range(const Options& options, std::string_view name, double low,
                   double high, std::string_view optimizer) {
  const double value = option<double>(options, name);
  if (value >= low && value < high) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(optimizer),
              "{} = {} is outside [{}, {})", name, value, low, high);
}

}  // namespace weft
