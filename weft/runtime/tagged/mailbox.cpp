#include "weft/runtime/tagged/mailbox.h"

#include <algorithm>

namespace weft {

std::optional<Tensor> Mailbox::expect(const ActivationTag& activation,
                                      int crossing, Item item) {
  const Key key{activation, crossing};
  const auto found = came_.find(key);
  if (found != came_.end()) {
    Tensor value = std::move(found->second);
    came_.erase(found);
    return value;
  }
  const bool is_new =
      waiting_.emplace(key, Waiting{item, crossing, ++ticks_}).second;
  WEFT_CHECK(is_new, "two activations have one tag");
  return std::nullopt;
}

std::optional<Item> Mailbox::deliver(Parcel& parcel) {
  const Key key{parcel.activation, parcel.crossing};
  const auto found = waiting_.find(key);
  // The value stays with the caller, who sends it on at once.
  if (found != waiting_.end()) {
    const Item item = found->second.item;
    waiting_.erase(found);
    return item;
  }
  const bool is_new = came_.emplace(key, std::move(parcel.value)).second;
  WEFT_CHECK(is_new, "a value came twice");
  return std::nullopt;
}

// A search through all of them will do: only the text of an error asks.
Mailbox::Waiting Mailbox::newest() const {
  const auto by_age = [](const auto& a, const auto& b) {
    return a.second.since < b.second.since;
  };
  return std::max_element(waiting_.begin(), waiting_.end(), by_age)->second;
}

void Mailbox::clear() {
  waiting_.clear();
  came_.clear();
}

}  // namespace weft
