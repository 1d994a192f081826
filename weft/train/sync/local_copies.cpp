#include "weft/train/sync/local_copies.h"

#include <algorithm>

#include "weft/base/ranges.h"
#include "weft/comm/collective/all_reduce.h"
#include "weft/train/sync/gather.h"
#include "weft/train/sync/rank_memory.h"

namespace weft {
namespace {

constexpr const char* kAveraged = "averaged";
constexpr const char* kReset = "reset";
constexpr const char* kKept = "kept";
constexpr const char* kBlockRate = "sync.block_rate";

std::string kept_name(int rank, const std::string& slot) {
  return fmt::format("sync.{}.{}", rank, slot);
}

}  // namespace

std::vector<OptionSpec> LocalCopies::options(std::vector<OptionSpec> own) {
  own.insert(
      own.end(),
      {{.name = "momentum",
        .value = std::string(kAveraged),
        .summary = "what becomes of the optimizers' memories then",
        .choices = {kAveraged, kReset, kKept}},
       {.name = "statistics",
        .value = std::string(kAveraged),
        .summary = "what becomes of batches' running statistics then; kept: "
                   "the first worker's are measured with",
        .choices = {kAveraged, kKept}},
       {.name = "block_momentum",
        .value = 0.0,
        .summary = "share of the last period's move that the next one keeps",
        .range = kBelowOne}});
  return own;
}

std::optional<Refusal> LocalCopies::declines(const Options&,
                                             const SyncRecipe& recipe) {
  if (recipe.momentum_correction > 0) {
    return Refusal{"momentum_correction",
                   "each worker's optimizer has moved its copy already",
                   "leave it out; an optimizer with momentum has it"};
  }
  if (recipe.memory == "updates") {
    return Refusal{"memory 'updates'",
                   "what travels are changes of the model, not gradients",
                   "memory = \"gradients\""};
  }
  return std::nullopt;
}

LocalCopies::LocalCopies(const Options& options, const SyncContext& context)
    : communicator_(context.communicator),
      network_(context.network),
      optimizer_(context.optimizer),
      momentum_(option<std::string>(options, "momentum")),
      statistics_treatment_(option<std::string>(options, "statistics")),
      block_momentum_(option<double>(options, "block_momentum")),
      buckets_(context.buckets),
      trainable_(context.trainable.begin(), context.trainable.end()),
      statistics_(context.statistics.begin(), context.statistics.end()),
      exchange_(make_exchange(context, network_text_)),
      update_(context) {
  if (block_momentum_ == 0) return;
  for (const NamedTensor& named : trainable_) {
    block_.push_back(
        {"sync.block." + named.name, Tensor::zeros(named.tensor.type())});
  }
  block_.push_back({kBlockRate, Tensor::scalar(0, DType::kF64)});
}

void LocalCopies::prepare(const SyncStep& step, bool meets) {
  // A worker without examples stays where it is, and is one of the mean.
  const bool moves = step.examples > 0;
  if (moves && began_.empty() && has_others()) remember();
  if (moves) update_.compute(step);
  // Others compute while this one is charged, and by then each has gone back.
  if (meets) go_back();
  if (moves) update_.charge();
}

void LocalCopies::end_step(const SyncStep& step) {
  if (block_.empty()) {
    for_each_member([&](std::span<float> mean, std::size_t parameter) {
      const auto copy = trainable_[parameter].tensor.span<float>();
      for (std::size_t i = 0; i < copy.size(); ++i) copy[i] += mean[i];
    });
  } else {
    move_by_block(step.lr);
  }
  if (momentum_ == kReset) reset_slots();
  if (momentum_ == kAveraged) average_slots();
  if (statistics_treatment_ == kAveraged) average_statistics();
}

// Calls `body` with what lies in the bucket of each parameter.
template <class Body>
void LocalCopies::for_each_member(const Body& body) {
  for (const Bucket& bucket : buckets_) {
    for (const BucketMember& member : bucket.members()) {
      body(part_of(bucket.gradient(), member), member.parameter);
    }
  }
}

void LocalCopies::remember() {
  for (const NamedTensor& named : trainable_) {
    began_.push_back(named.tensor.clone());
  }
}

// There is one of the two in memory while they travel: how far the copy has
// come, or the copy.
void LocalCopies::go_back() {
  const float share = 1.0f / static_cast<float>(communicator_.size());
  if (began_.empty()) {
    for (const Bucket& bucket : buckets_) {
      std::ranges::fill(bucket.gradient(), 0.0f);
    }
    return;
  }
  for_each_member([&](std::span<float> travels, std::size_t parameter) {
    const auto copy = trainable_[parameter].tensor.span<float>();
    const auto began = began_[parameter].span<float>();
    for (std::size_t i = 0; i < copy.size(); ++i) {
      travels[i] = (copy[i] - began[i]) * share;
      copy[i] = began[i];
    }
  });
  began_.clear();
}

void LocalCopies::move_by_block(double lr) {
  double& rate = *block_.back().tensor.data<double>();
  // A period at a rate of 0 has moved nothing.
  const auto kept =
      static_cast<float>(rate > 0 ? block_momentum_ * lr / rate : 0);
  rate = lr;
  for_each_member([&](std::span<float> mean, std::size_t parameter) {
    const auto copy = trainable_[parameter].tensor.span<float>();
    const auto velocity = block_[parameter].tensor.span<float>();
    for (std::size_t i = 0; i < copy.size(); ++i) {
      velocity[i] = kept * velocity[i] + mean[i];
      copy[i] += velocity[i];
    }
  });
}

// As at the beginning of a training from here.
void LocalCopies::reset_slots() {
  const auto reset = [&](const std::string& name, const Tensor& first) {
    const auto slot =
        std::ranges::find(update_.slots(), name, &NamedTensor::name);
    WEFT_CHECK(slot != update_.slots().end());
    slot->tensor.copy_from(first);
  };
  for (const NamedTensor& named : trainable_) {
    for (const Slot& slot :
         optimizer_.slots({named.name, named.tensor.type()})) {
      reset(slot_name(slot, named.name), initial_slot(slot, named.tensor));
    }
  }
  for (const Slot& slot : optimizer_.shared_slots()) {
    reset(slot_name(slot), initial_slot(slot));
  }
}

// Counters are the same everywhere and stay.
void LocalCopies::average_slots() {
  const double share = 1.0 / communicator_.size();
  std::vector<double> numbers;
  const auto for_each_number = [&](const auto& body) {
    for (const NamedTensor& slot : update_.slots()) {
      if (slot.tensor.dtype() != DType::kF64) continue;
      for (double& value : slot.tensor.span<double>()) body(value);
    }
  };
  for (const NamedTensor& slot : update_.slots()) {
    if (slot.tensor.dtype() != DType::kF32) continue;
    for (float& value : slot.tensor.span<float>()) {
      value *= static_cast<float>(share);
    }
    network_.wait(network_.submit([&] {
      static const AllReduce kHalving("rabenseifner");
      return kHalving.run(communicator_, dense(slot.tensor.span<float>()),
                          slot.name);
    }));
  }
  // What an optimizer measures of all parameters together are a few numbers.
  for_each_number([&](double& value) { numbers.push_back(value * share); });
  if (numbers.empty()) return;
  network_.wait(network_.submit([&] {
    return sum_over_workers(communicator_.open({"sum", "optimizers' numbers"}),
                            numbers);
  }));
  auto next = numbers.begin();
  for_each_number([&](double& value) { value = *next++; });
}

// They are many and small, and travel together.
void LocalCopies::average_statistics() {
  if (statistics_.empty()) return;
  const float share = 1.0f / static_cast<float>(communicator_.size());
  std::vector<float> row;
  for (const NamedTensor& named : statistics_) {
    for (const float value : named.tensor.span<float>()) {
      row.push_back(value * share);
    }
  }
  network_.wait(network_.submit([&] {
    static const AllReduce kHalving("rabenseifner");
    return kHalving.run(communicator_, dense(std::span(row)), "statistics");
  }));
  auto next = row.begin();
  for (const NamedTensor& named : statistics_) {
    for (float& value : named.tensor.span<float>()) value = *next++;
  }
}

std::vector<OwnedTensor> LocalCopies::state() const {
  std::vector<OwnedTensor> result =
      rank_memory(exchange_->memory(), communicator_);
  for (OwnedTensor& kept : exchange_->state()) {
    result.push_back(std::move(kept));
  }
  for (OwnedTensor& slot : update_.state()) result.push_back(std::move(slot));
  // Blocks move alike everywhere.
  for (const NamedTensor& named : block_) {
    result.push_back({named.name, named.tensor.type(), 0, named.tensor});
  }
  if (momentum_ != kKept) return result;
  // The first worker's slots have the names that they have anywhere, so that
  // others can go on with them.
  for (int rank = 1; rank < communicator_.size(); ++rank) {
    for (const NamedTensor& slot : update_.slots()) {
      result.push_back({kept_name(rank, slot.name), slot.tensor.type(), rank,
                        rank == communicator_.rank() ? slot.tensor : Tensor()});
    }
  }
  return result;
}

std::string LocalCopies::restore(
    const std::function<Tensor(const std::string&)>& read, int ranks) {
  update_.restore(read);
  if (momentum_ == kKept) {
    for (const NamedTensor& slot : update_.slots()) {
      const Tensor own = read(kept_name(communicator_.rank(), slot.name));
      // One that joins goes on with the first worker's.
      if (own.is_defined()) slot.tensor.copy_from(own);
    }
  }
  for (const NamedTensor& named : block_) {
    const Tensor saved = read(named.name);
    // The checkpoint of another policy has none: blocks begin at rest.
    if (saved.is_defined()) named.tensor.copy_from(saved);
  }
  // A checkpoint is saved where all are at one.
  began_.clear();
  const std::string note = exchange_->restore(read);
  return restore_rank_memory(exchange_->memory(), communicator_, read, ranks) +
         (note.empty() ? "" : "\n" + note);
}

std::string LocalCopies::text() const {
  return exchange_->text() + network_text_;
}

}  // namespace weft
