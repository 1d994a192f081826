#include "weft/optim/optimizer.h"

#include <cstring>
#include <optional>

namespace weft {

std::string slot_name(const Slot& slot, std::string_view parameter) {
  return parameter.empty()
             ? fmt::format("optimizer.{}", slot.name)
             : fmt::format("optimizer.{}.{}", slot.name, parameter);
}

std::string used_name(const Optimizer& optimizer,
                      const ParameterInfo& parameter) {
  std::optional<Slot> found;
  for (Slot& slot : optimizer.slots(parameter)) {
    if (!slot.stands_in) continue;
    if (found) {
      throw Error(ErrorCode::kInvalidArgument, "optimizer",
                  "'{}' and '{}' both want to stand in for the parameters",
                  slot.name, found->name)
          .hint("evaluate=false for one of them");
    }
    WEFT_CHECK(slot.type == parameter.type, "slot '{}'", slot.name);
    found = std::move(slot);
  }
  return found ? slot_name(*found, parameter.name) : parameter.name;
}

Tensor initial_slot(const Slot& slot, const Tensor& parameter) {
  if (slot.is_copy) {
    WEFT_CHECK(parameter.type() == slot.type);
    return parameter.clone();
  }
  Tensor tensor = Tensor::zeros(slot.type);
  if (slot.initial == 0) return tensor;
  const Tensor element = Tensor::scalar(slot.initial, slot.type.dtype);
  auto* const bytes = static_cast<std::byte*>(tensor.raw());
  for (std::size_t at = 0; at < tensor.bytes(); at += element.bytes()) {
    std::memcpy(bytes + at, element.raw(), element.bytes());
  }
  return tensor;
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
