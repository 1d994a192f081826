#include "weft/data/idle_source.h"

namespace weft {

IdleSource::IdleSource(const BatchSource& of)
    : inputs_(of.inputs()),
      batches_(of.batches_per_epoch()),
      examples_(of.examples_per_epoch()) {
  // Others have them all; how many these are is for them to know.
  batch_.whole_size = (examples_ + batches_ - 1) / batches_;
}

const Batch& IdleSource::next() {
  batch_.position = next_;
  seek({next_.epoch, next_.batch + 1});
  return batch_;
}

void IdleSource::seek(BatchPosition position) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches_) {
    throw Error(ErrorCode::kInvalidArgument, "batches",
                "there is no batch {} of {} in epoch {}", position.batch,
                batches_, position.epoch);
  }
  // A checkpoint at the end of an epoch may name the batch behind its last one.
  next_ = position.batch == batches_ ? BatchPosition{position.epoch + 1, 0}
                                     : position;
}

}  // namespace weft
