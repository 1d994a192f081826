#include "weft/comm/transport/transport_def.h"

namespace weft {

const TransportDef* launched_transport() {
  for (const TransportDef& def : transport_registry().all()) {
    if (def.is_launched != nullptr && def.is_launched()) return &def;
  }
  return nullptr;
}

std::unique_ptr<LocalRanks> open_transport(const Call<TransportDef>& call,
                                           const Say& say) {
  if (call.def->declines != nullptr) {
    if (const auto refusal = call.def->declines(call.options)) {
      throw refused("transport", in_quotes(call.def->name), *refusal);
    }
  }
  return call.def->open(call.options, say);
}

}  // namespace weft
