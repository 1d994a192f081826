#include "weft/concurrent/sgd/update_kind.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::concurrent {

const std::vector<std::string>& update_kind_names() {
  static const std::vector<std::string> names = {
      "sequential", "locked", "striped", "round-robin", "hogwild", "atomic"};
  return names;
}

std::string_view to_string(UpdateKind kind) {
  return update_kind_names()[static_cast<std::size_t>(kind)];
}

UpdateKind update_kind(std::string_view name) {
  const auto& names = update_kind_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    Error error(ErrorCode::kInvalidArgument, "sgd", "there is no variant '{}'",
                name);
    const std::string near = nearest(name, names);
    throw std::move(near.empty() ? error
                                 : error.hint("did you mean '" + near + "'?"));
  }
  return static_cast<UpdateKind>(found - names.begin());
}

}  // namespace weft::concurrent
