#include "weft/graph/registry.h"

namespace weft {

OpRegistry::OpRegistry() = default;
OpRegistry::OpRegistry(OpRegistry&& other) noexcept = default;
OpRegistry::~OpRegistry() = default;

OpDef& OpRegistry::add(std::string name) {
  // References to entries stay good: a deque does not move its elements.
  return ops_.emplace_back(std::move(name));
}

void OpRegistry::freeze() {
  for (const OpDef& op : ops_) {
    WEFT_CHECK(by_name_.emplace(op.name(), &op).second,
               "the op '{}' is registered twice", op.name());
    // Every other part of an op may be missing; without its types nothing can
    // be built or checked.
    WEFT_CHECK(op.infer() != nullptr, "the op '{}' has no inference",
               op.name());
  }
}

const OpDef* OpRegistry::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const OpDef& OpRegistry::get(std::string_view name) const {
  if (const OpDef* op = find(name)) return *op;
  std::vector<std::string> known;
  for (const OpDef& op : ops_) known.push_back(op.name());
  // The name may come from a text, so it is the caller's mistake.
  Error error(ErrorCode::kInvalidArgument, "graph", "there is no op '{}'",
              name);
  const std::string near = nearest(name, known);
  if (!near.empty()) error.hint("did you mean '" + near + "'?");
  throw error;
}

}  // namespace weft
