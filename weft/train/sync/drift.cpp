#include "weft/train/sync/drift.h"

#include <algorithm>
#include <cmath>

#include "weft/comm/collective/all_reduce.h"

namespace weft {

DriftMeter::DriftMeter(WorkerGroup& group, std::span<const Bucket> buckets,
                       const std::vector<OwnedTensor>& state,
                       const SyncRecipe& recipe, std::uint64_t seed)
    : group_(group),
      // It only says what would be picked, and keeps nothing of its own.
      picker_(recipe, seed, buckets, Compressor::Memory::kNone),
      holds_updates_(recipe.memory == "updates"),
      seed_(seed) {
  for (const Bucket& bucket : buckets) {
    for (const BucketMember& member : bucket.members()) {
      // The name is that of rank_memory(); tensors that bypass the codec have
      // none, and are not measured.
      const std::string name =
          fmt::format("sync.{}.residual.{}", group.rank(), member.name);
      const auto found = std::ranges::find(state, name, &OwnedTensor::name);
      if (found == state.end()) continue;
      measured_.push_back({&bucket, &member, found->tensor});
    }
  }
}

std::vector<float> DriftMeter::outstanding() {
  std::vector<float> sum;
  for (const Measured& each : measured_) {
    const auto values = each.memory.span<float>();
    sum.insert(sum.end(), values.begin(), values.end());
  }
  // A ring runs with any number of workers, whatever the recipe names.
  static const AllReduce kRing("ring");
  group_.run([&] {
    return kRing.run(group_.communicator(), dense(std::span(sum)), "memories");
  });
  return sum;
}

void DriftMeter::begin_step() { before_ = outstanding(); }

Drift DriftMeter::end_step(const SyncStep& step) {
  const std::vector<float> after = outstanding();
  // Memories of updates hold gradients times the rate, and what was sent is
  // taken times the rate, too.
  const double scale = holds_updates_ ? step.lr : 1;
  double gradient = 0;  // squares
  double missed = 0;
  double drift = 0;
  std::size_t begin = 0;
  for (const Measured& each : measured_) {
    const std::size_t size = each.member->size;
    const auto sent = part_of(each.bucket->gradient(), *each.member);
    std::vector<double> applied(size);
    std::vector<float> had(size);  // e + g
    for (std::size_t i = 0; i < size; ++i) {
      const auto left = static_cast<double>(after[begin + i]);
      applied[i] = scale * static_cast<double>(sent[i]);
      // Nothing is lost: what was sent and what is left are all that workers
      // had, e + g. So g follows from the memories before the step, without
      // being exchanged.
      const double all = applied[i] + left;
      const double new_one = all - static_cast<double>(before_[begin + i]);
      had[i] = static_cast<float>(all);
      gradient += new_one * new_one;
      drift += left * left;
    }
    const MessageId id{seed_,
                       static_cast<std::uint32_t>(each.member->parameter),
                       static_cast<std::uint32_t>(step.number), 0};
    std::vector<std::uint32_t> best;
    picker_.pipeline(step.epoch).sparsifier()->select(had, id, best);
    // From here on the vector becomes top(e + g) - s.
    for (double& value : applied) value = -value;
    for (const std::uint32_t i : best) {
      applied[i] += static_cast<double>(had[i]);
    }
    for (const double value : applied) missed += value * value;
    begin += size;
  }
  // Without any gradient xi is NaN, which stands for not measured.
  return {std::sqrt(missed / gradient), std::sqrt(drift)};
}

}  // namespace weft
