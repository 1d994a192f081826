#include "weft/optim/optimizer.h"

#include <cstring>

namespace weft {

std::string slot_name(const Slot& slot, std::string_view parameter) {
  return parameter.empty()
             ? fmt::format("optimizer.{}", slot.name)
             : fmt::format("optimizer.{}.{}", slot.name, parameter);
}

std::optional<std::size_t> stand_in(const Optimizer& optimizer,
                                    const ParameterInfo& parameter) {
  const std::vector<Slot> slots = optimizer.slots(parameter);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].stands_in) continue;
    WEFT_CHECK(slots[i].type == parameter.type, "slot '{}'", slots[i].name);
    if (found) {
      throw Error(ErrorCode::kInvalidArgument, "optimizer",
                  "'{}' and '{}' both want to stand in for the parameters",
                  slots[*found].name, slots[i].name)
          .hint("evaluate=false for one of them");
    }
    found = i;
  }
  return found;
}

std::string used_name(const Optimizer& optimizer,
                      const ParameterInfo& parameter) {
  const auto found = stand_in(optimizer, parameter);
  return found ? slot_name(optimizer.slots(parameter)[*found], parameter.name)
               : parameter.name;
}

Tensor initial_slot(const Slot& slot, const Tensor& parameter) {
  if (slot.is_copy) {
    WEFT_CHECK(parameter.type() == slot.type);
    return parameter.clone();
  }
  Tensor tensor = Tensor::zeros(slot.type);
  if (slot.initial == 0) return tensor;
  // An element is made once by its dtype and copied, so that no dtype needs
  // code of its own.
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

}  // namespace weft
