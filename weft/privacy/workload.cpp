#include "weft/privacy/workload.h"

namespace weft::privacy {

WorkloadCall parse_workload(std::string_view text) {
  const WorkloadRegistry& registry = privacy_workload_registry();
  return parse_call(text, registry, registry.kind());
}

}  // namespace weft::privacy
