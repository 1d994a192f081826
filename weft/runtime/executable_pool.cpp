#include "weft/runtime/executable_pool.h"

#include "weft/runtime/inline_calls.h"
#include "weft/runtime/nested_calls.h"

namespace weft {

ExecutablePool::ExecutablePool(Graph graph, ExecutableOptions options)
    : graph_(std::move(graph)), options_(std::move(options)) {
  WEFT_CHECK(options_.donated.empty() || !has_control(function()));
}

std::vector<Tensor> ExecutablePool::run(std::span<const Tensor> arguments) {
  Run run = take();
  std::vector<Tensor> results = run(arguments);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(run));
  return results;
}

ExecutablePool::Run ExecutablePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Run run = std::move(idle_.back());
      idle_.pop_back();
      return run;
    }
  }
  return make();
}

ExecutablePool::Run ExecutablePool::make() const {
  if (has_control(function())) {
    const auto calls = std::make_shared<NestedCalls>(graph_);
    return
        [calls, name = function().name()](std::span<const Tensor> arguments) {
          return calls->run(name, arguments);
        };
  }
  const auto executable = std::make_shared<Executable>(function(), options_);
  return [executable](std::span<const Tensor> arguments) {
    return executable->run(arguments);
  };
}

}  // namespace weft
