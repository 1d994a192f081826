#include "weft/train/step/single_worker.h"

namespace weft {

WorkerTotals SingleWorker::run(const Batch& batch, const WorkerStep& step) {
  step_.run(batch.tensors, {.lr = step.lr, .number = step.number});
  return {.have_met = true,
          .sums = step_.measures(),
          .is_stopping = step.wants_stop};
}

std::vector<NamedTensor> SingleWorker::gradients(const Batch& batch,
                                                 const WorkerStep& step) {
  if (!probe_) probe_.emplace(description_);
  return probe_->run(batch.tensors, {.lr = step.lr, .number = step.number});
}

void restore_alone(const std::vector<NamedTensor>& state,
                   const CheckpointFile& file) {
  std::vector<CheckpointFile::Wanted> wanted;
  for (const NamedTensor& named : state) {
    wanted.push_back({named.name, named.tensor.type()});
  }
  // What several workers had beside it (see train/sync) is left behind.
  const std::vector<Tensor> tensors =
      file.read(wanted, /*allow_more=*/file.info().metrics.contains("workers"));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Values are copied into place, since the step's arguments and results are
    // this very memory.
    Tensor memory = state[i].tensor;
    memory.copy_from(tensors[i]);
  }
}

}  // namespace weft
