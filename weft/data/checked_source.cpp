#include "weft/data/checked_source.h"

#include <algorithm>

namespace weft {
namespace {

// A tensor of `size` examples is what `input` declares, but for axes that vary.
bool fits(const TensorType& type, const BatchInput& input, std::int64_t size) {
  const Shape& declared = input.type.shape;
  if (type.dtype != input.type.dtype || type.shape.rank() != declared.rank()) {
    return false;
  }
  if (type.shape[0] != size) return false;
  for (int axis = 1; axis < declared.rank(); ++axis) {
    const bool varies =
        std::ranges::find(input.varying, axis) != input.varying.end();
    const Dim dim = type.shape[axis];
    // A step's memory is planned for the declared size, into which a smaller
    // one fits.
    if (varies ? dim > declared[axis] : dim != declared[axis]) return false;
  }
  return true;
}

// "batch 3 of epoch 1": people count from 1.
std::string to_text(BatchPosition position) {
  return fmt::format("batch {} of epoch {}", position.batch + 1,
                     position.epoch + 1);
}

}  // namespace

CheckedSource::CheckedSource(std::string name,
                             std::unique_ptr<BatchSource> source)
    : name_(std::move(name)),
      source_(std::move(source)),
      inputs_(source_->inputs()),
      batches_(source_->batches_per_epoch()) {
  if (batches_ < 1) {
    throw Error(ErrorCode::kInvalidArgument, name_,
                "declares {} batches in an epoch", batches_)
        .hint("an epoch has one batch at least");
  }
}

std::int64_t CheckedSource::examples_per_epoch() const {
  return source_->examples_per_epoch();
}

const Batch& CheckedSource::next() {
  // The position is asked before the batch is, as next() moves it on.
  const BatchPosition due = source_->position();
  const Batch& batch = source_->next();
  check(batch, due);
  return batch;
}

void CheckedSource::check(const Batch& batch, BatchPosition due) const {
  if (batch.whole_size == 0) throw dry(due);
  if (batch.position != due) {
    throw wrong(due, "it gave " + to_text(batch.position));
  }
  if (batch.size < 0 || batch.size > batch.whole_size) {
    throw wrong(due, fmt::format("this worker's part has {} of {} examples",
                                 batch.size, batch.whole_size));
  }
  if (batch.tensors.size() != inputs_.size()) {
    throw wrong(due, fmt::format("it has {} tensors, where {} are declared",
                                 batch.tensors.size(), inputs_.size()));
  }
  // Sources come from outside, too. A tensor that does not fit would be found
  // in the middle of a step, by a kernel.
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const BatchInput& input = inputs_[i];
    const Tensor& tensor = batch.tensors[i];
    if (!tensor.is_defined()) {
      throw wrong(due, fmt::format("'{}' has no tensor", input.name));
    }
    if (fits(tensor.type(), input, batch.size + batch.padding)) continue;
    throw wrong(due,
                fmt::format("'{}' is {}", input.name, to_string(tensor.type())))
        .detail(fmt::format("declared: {}, of which this batch has {} examples",
                            to_string(input.type), batch.size));
  }
}

Error CheckedSource::dry(BatchPosition due) const {
  return Error(ErrorCode::kUnavailable, name_,
               "ran dry: {} was due, and there is none", to_text(due))
      .detail(fmt::format("declared: {} batches in each epoch", batches_))
      .hint(
          "ask for less (train.epochs, train.max_steps, data.batches), or let "
          "the source declare what it has");
}

Error CheckedSource::wrong(BatchPosition due, std::string_view what) const {
  return Error(ErrorCode::kDataLoss, name_,
               "{} is not what the source declared: {}", to_text(due), what)
      .hint(
          "a step is planned for what inputs() said before the first batch: "
          "every batch must keep to it");
}

}  // namespace weft
