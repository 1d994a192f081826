// A block's whole budget from its first moment on.
#include "weft/privacy/unlocking.h"

namespace weft {

void register_unlocking_all(privacy::UnlockingRegistry& rules) {
  rules.add(
      {.name = "all",
       .summary = "everything at once",
       .share = [](const Options&, const privacy::BlockAge&) { return 1.0; }});
}

}  // namespace weft
