#include "weft/runtime/executable_pool.h"

namespace weft {

ExecutablePool::ExecutablePool(Graph graph, ExecutableOptions options)
    : graph_(std::move(graph)), options_(std::move(options)) {}

std::vector<Tensor> ExecutablePool::run(std::span<const Tensor> arguments) {
  std::unique_ptr<Executable> executable = take();
  std::vector<Tensor> results = executable->run_consuming(arguments);
  // An executable whose run has thrown is not given back: nobody looks into
  // what that run left behind.
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(executable));
  return results;
}

void ExecutablePool::prepare(std::span<const Tensor> arguments,
                             std::size_t copies) {
  std::vector<std::unique_ptr<Executable>> taken;
  for (std::size_t i = 0; i < copies; ++i) {
    taken.push_back(take());
    taken.back()->run_consuming(arguments);
  }
  const std::lock_guard lock(mutex_);
  for (auto& each : taken) idle_.push_back(std::move(each));
}

std::unique_ptr<Executable> ExecutablePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto executable = std::move(idle_.back());
      idle_.pop_back();
      return executable;
    }
  }
  // Making one takes no lock, so that other calls need not wait for it.
  return std::make_unique<Executable>(graph_, function().name(), options_);
}

}  // namespace weft
