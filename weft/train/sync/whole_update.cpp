#include "weft/train/sync/whole_update.h"

namespace weft {
namespace {

StepDescription update_of(const SyncContext& context) {
  // Buckets go from the last parameter to the first, and the update asks by
  // parameter.
  std::vector<Tensor> gradients(context.trainable.size());
  for (const Bucket& bucket : context.buckets) {
    for (const BucketMember& member : bucket.members()) {
      // These share the bucket's memory, so that the update reads what an
      // exchange has left there, without a copy.
      gradients[member.parameter] = bucket.gradient_of(member);
    }
  }
  StepDescription update =
      StepDescription(context.optimizer, context.trainable, context.clip_norm)
          .with_options({.clip_norm = context.clip_norm,
                         .executables = context.executables});
  update.set_gradients(gradients);
  return update;
}

double seconds_of(const SyncContext& context) {
  double bytes = 0;
  for (const Bucket& bucket : context.buckets) {
    bytes += static_cast<double>(bucket.bytes());
  }
  return context.price.update * bytes;
}

}  // namespace

WholeUpdate::WholeUpdate(const SyncContext& context)
    : network_(context.network),
      seconds_(seconds_of(context)),
      description_(update_of(context)),
      slots_(description_.tensors(EntryRole::kSlot)),
      update_(description_, StepCut::kUpdate) {}

void WholeUpdate::compute(const SyncStep& step) {
  update_.run({}, {.lr = step.lr, .number = step.number});
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
  for (const NamedTensor& slot : slots_) {
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
