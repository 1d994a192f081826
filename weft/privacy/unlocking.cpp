#include "weft/privacy/unlocking.h"

namespace weft::privacy {

Unlocking parse_unlocking(std::string_view text) {
  const UnlockingRegistry& registry = unlocking_registry();
  return {parse_call(text, registry, registry.kind())};
}

}  // namespace weft::privacy
