// What several workers show of their gradients (Worker::gradients()).
#include "weft/comm/collective/rooted.h"
#include "weft/train/sync/synced_worker.h"

namespace weft {
namespace {

// Sums on the first rank; what others hold afterwards is of no use.
Task<> sum_on_first(Channel channel, std::vector<NamedTensor> tensors) {
  for (const NamedTensor& named : tensors) {
    const Tensor& tensor = named.tensor;
    const DenseBuffer buffer{tensor.dtype(),
                             static_cast<std::byte*>(tensor.raw()),
                             static_cast<std::size_t>(tensor.size())};
    co_await reduce(RootedMethod::kTree, channel, buffer, /*root=*/0);
  }
}

std::vector<NamedTensor> zeros_like(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> zeros;
  for (const auto& [name, tensor] : tensors) {
    zeros.push_back({name, Tensor::zeros(tensor.type())});
  }
  return zeros;
}

}  // namespace

// Each gradient is of the worker's own copy, as in the step: where copies are
// apart, as between two meetings, the sum is what they do on the whole.
std::vector<NamedTensor> SyncedWorker::gradients(const Batch& batch,
                                                 const WorkerStep& step) {
  // On a virtual clock it would cost a time that no run without it takes.
  if (privacy_ || computing_ != nullptr) return {};
  // The parameters are those that the step begins with.
  settle_all();
  const double share = share_of(batch, step.number);
  if (!probe_) probe_.emplace(description_);
  const std::vector<NamedTensor> sums =
      batch.size > 0
          ? probe_->run(batch.tensors, controls_of(batch, step, share))
          : zeros_like(description_.tensors(EntryRole::kParameter));
  group_.run([&] {
    return sum_on_first(
        group_.communicator().open(
            {"reduce", fmt::format("gradients of step {}", step.number + 1)}),
        sums);
  });
  return group_.is_first() ? sums : std::vector<NamedTensor>();
}

}  // namespace weft
