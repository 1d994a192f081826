#include "weft/data/augmentation.h"

#include <algorithm>

#include "weft/base/call_reader.h"

namespace weft {

Augmentations::Augmentations(const std::vector<std::string>& calls) {
  std::vector<std::string_view> names;
  for (const std::string& text : calls) {
    const auto call = parse_call(text, augmentation_registry(), "augmentation");
    // Both would draw the same numbers.
    if (std::ranges::count(names, call.def->name) > 0) {
      throw Error(ErrorCode::kInvalidArgument, "augmentation",
                  "'{}' is there twice", call.def->name);
    }
    names.push_back(call.def->name);
    all_.push_back(call.def->make(call.options));
    texts_.push_back(to_string(call));
  }
}

}  // namespace weft
