#include "weft/runtime/executable_cache.h"

#include <algorithm>

#include "weft/compiler/inline_calls.h"
#include "weft/graph/collectives.h"

namespace weft {
namespace {

bool is_shared(const Function& function) {
  return !has_control(function) &&
         std::ranges::none_of(function.nodes(), [](const Node& node) {
           return node.op->has(kHost) ||
                  meets_other_ranks(*node.op, node.attributes);
         });
}

// All that a plan is made by.
bool plan_alike(const ExecutableOptions& a, const ExecutableOptions& b) {
  return a.donated == b.donated && a.check_numerics == b.check_numerics &&
         a.fuse == b.fuse && a.without == b.without && a.search == b.search &&
         a.batch_norm == b.batch_norm && a.memory_limit == b.memory_limit &&
         a.most_plans == b.most_plans;
}

}  // namespace

std::shared_ptr<Executable> ExecutableCache::get(Graph graph,
                                                 std::string_view entry,
                                                 ExecutableOptions options) {
  const Function* function = graph.find(entry);
  // What is frozen are tensors of one of those who ask.
  if (function == nullptr || !is_shared(*function) || !options.frozen.empty()) {
    return std::make_shared<Executable>(std::move(graph), entry,
                                        std::move(options));
  }
  const auto found = std::ranges::find_if(known_, [&](const Known& known) {
    return plan_alike(known.options, options) &&
           known.executable->function().equals(*function);
  });
  if (found != known_.end()) return found->executable;
  auto made = std::make_shared<Executable>(*function, options);
  known_.push_back({std::move(options), made});
  return made;
}

}  // namespace weft
