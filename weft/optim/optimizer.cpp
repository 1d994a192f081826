#include "weft/optim/optimizer.h"

namespace weft {

std::vector<Value> Optimizer::scalars(const Value& lr, const Value&) const {
  return {lr};
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
