#include "weft/base/refusal.h"

namespace weft {

std::string in_quotes(std::string_view text) {
  return fmt::format("'{}'", text);
}

Error refused(std::string_view where, std::string_view who,
              const Refusal& refusal, ErrorCode code) {
  Error error(code, where, "{} declines {}, because {}", who, refusal.what,
              refusal.because);
  if (!refusal.instead.empty()) error.hint(refusal.instead);
  return error;
}

}  // namespace weft
