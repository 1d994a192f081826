#include "weft/train/single_worker.h"

#include "weft/train/objective.h"

namespace weft {

WorkerTotals SingleWorker::run(const Batch& batch, const WorkerStep& step) {
  step_.run(batch.tensors, step.lr, step.number);
  WorkerTotals totals{.mean = {}, .is_stopping = step.wants_stop};
  totals.mean.add(
      step_.loss(), step_.correct(),
      prediction_count(task_, batch.tensors[1].shape(), batch.size));
  return totals;
}

std::string SingleWorker::restore(const CheckpointFile& file) {
  std::vector<CheckpointFile::Wanted> wanted;
  for (const NamedTensor& named : step_.state()) {
    wanted.push_back({named.name, named.tensor.type()});
  }
  // What several workers had beside it (see train/sync) is left behind.
  const std::vector<Tensor> tensors =
      file.read(wanted, /*allow_more=*/file.info().metrics.contains("workers"));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Values are copied into place, since the step's arguments and results are
    // this very memory.
    step_.state()[i].tensor.copy_from(tensors[i]);
  }
  return "";
}

}  // namespace weft
