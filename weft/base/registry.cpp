#include "weft/base/registry.h"

namespace weft::detail {

void throw_unregistered(const std::string& kind, std::string_view name,
                        const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& entry : known) {
    list += (list.empty() ? "" : ", ") + entry;
  }
  const std::string near = nearest(name, known);
  throw Error(ErrorCode::kInvalidArgument, kind, "no {} '{}'{}", kind, name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
      .detail("known: " + list);
}

}  // namespace weft::detail
