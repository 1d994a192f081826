#include "weft/train/sync/whole_update.h"

#include <algorithm>

namespace weft {

WholeUpdate::WholeUpdate(const SyncContext& context)
    : network_(context.network),
      seconds_per_byte_(context.price.update),
      is_by_bucket_(context.recipe.overlap_forward) {
  // An update names its parameters in the order in which they are trained.
  std::vector<std::vector<std::size_t>> parts(
      is_by_bucket_ ? context.buckets.size() : 1);
  std::vector<Tensor> gradients(context.trainable.size());
  for (const Bucket& bucket : context.buckets) {
    bytes_ += bucket.bytes();
    auto& part = parts[is_by_bucket_ ? bucket.number() : 0];
    for (const BucketMember& member : bucket.members()) {
      // These share the bucket's memory, so that the update reads what an
      // exchange has left there, without a copy.
      gradients[member.parameter] = bucket.gradient_of(member);
      part.push_back(member.parameter);
    }
  }
  for (auto& part : parts) {
    std::ranges::sort(part);
    std::vector<NamedTensor> parameters;
    std::vector<Tensor> own;
    for (const std::size_t i : part) {
      parameters.push_back(context.trainable[i]);
      own.push_back(gradients[i]);
    }
    StepDescription update =
        StepDescription(context.optimizer, parameters, context.clip_norm)
            .with_options({.clip_norm = context.clip_norm,
                           .executables = context.executables});
    update.set_gradients(own);
    for (NamedTensor& slot : update.tensors(EntryRole::kSlot)) {
      slots_.push_back(std::move(slot));
    }
    updates_.emplace_back(update, StepCut::kUpdate);
  }
}

void WholeUpdate::run(const Bucket& bucket, const SyncStep& step) {
  if (!is_by_bucket_) return;
  updates_[bucket.number()].run({}, {.lr = step.lr, .number = step.number});
  network_.charge(seconds_per_byte_ * static_cast<double>(bucket.bytes()));
}

void WholeUpdate::compute(const SyncStep& step) {
  if (is_by_bucket_) return;
  updates_[0].run({}, {.lr = step.lr, .number = step.number});
}

void WholeUpdate::charge() {
  if (is_by_bucket_) return;
  network_.charge(seconds_per_byte_ * static_cast<double>(bytes_));
}

std::vector<OwnedTensor> WholeUpdate::state() const {
  std::vector<OwnedTensor> result;
  for (const NamedTensor& slot : slots_) {
    // The first worker owns them all: the others' are equal.
    result.push_back({slot.name, slot.tensor.type(), 0, slot.tensor});
  }
  return result;
}

void WholeUpdate::restore(
    const std::function<Tensor(const std::string&)>& read) const {
  restore_slots(slots_, read);
}

void restore_slots(std::span<const NamedTensor> slots,
                   const std::function<Tensor(const std::string&)>& read) {
  for (const NamedTensor& slot : slots) {
    const Tensor saved = read(slot.name);
    if (!saved.is_defined() || !(saved.type() == slot.tensor.type())) {
      throw Error(ErrorCode::kDataLoss, "checkpoint", "has no {} called '{}'",
                  to_string(slot.tensor.type()), slot.name)
          .hint("is this the checkpoint of another recipe?");
    }
    // The value is copied into place, as the update works on this memory.
    slot.tensor.copy_from(saved);
  }
}

}  // namespace weft
