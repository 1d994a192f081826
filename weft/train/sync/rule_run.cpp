#include "weft/train/sync/rule_run.h"

#include <algorithm>

namespace weft {
namespace {

// Ranks that hold buckets, each once, in their order.
std::vector<int> owners_of(std::span<const Bucket> buckets,
                           const Roles& roles) {
  std::vector<int> owners;
  for (const Bucket& bucket : buckets) {
    owners.push_back(roles.owner_of(bucket.number()));
  }
  std::ranges::sort(owners);
  const auto rest = std::ranges::unique(owners);
  owners.erase(rest.begin(), rest.end());
  return owners;
}

std::string slot_name(const RuleSlot& slot) { return "sync.rule." + slot.name; }
std::string slot_name(const RuleSlot& slot, const BucketMember& member) {
  return slot_name(slot) + "." + member.name;
}

// A member's part of a row that is laid out as its bucket.
Tensor part_of(const Tensor& row, const BucketMember& member) {
  const auto begin = static_cast<std::int64_t>(member.offset);
  return row.slice(begin, begin + static_cast<std::int64_t>(member.size))
      .reshape(member.shape);
}

// What a worker's values are times, to count as one of `workers` with equal
// shares. A share that is no number makes values that are none.
float scale_of(double share, int workers) {
  return static_cast<float>(1 / (share * workers));
}

}  // namespace

RuleRun::RuleRun(const SyncContext& context, Holders holders)
    : communicator_(context.communicator),
      roles_(context.roles),
      everyone_holds_(holders == Holders::kEveryone),
      buckets_(context.buckets),
      trainable_(context.trainable.begin(), context.trainable.end()),
      call_(rule_of(context.recipe)),
      rule_(make_rule(context.recipe, {.workers = context.roles.workers(),
                                       .seed = context.seed})),
      held_(context.buckets.size()),
      changed_(communicator_.transport()) {
  if (rule_ == nullptr) return;
  if (!everyone_holds_) holders_ = owners_of(buckets_, roles_);
  for (const Bucket& bucket : buckets_) {
    if (!holds(bucket)) continue;
    ++count_held_;
    const auto size = static_cast<Dim>(bucket.gradient().size());
    for (const RuleSlot& slot : rule_->slots()) {
      held_[bucket.number()].slots.push_back(
          Tensor::zeros({slot.dtype, {size}}));
    }
  }
  if (count_held_ == 0) return;
  for (const RuleSlot& slot : rule_->shared_slots()) {
    shared_slots_.push_back(Tensor::zeros({slot.dtype, {slot.size}}));
  }
}

void RuleRun::enter(const Bucket& bucket, const SyncStep& step) {
  if (rule_ == nullptr || rule_->measures() == 0 || bucket.number() > 0) {
    return;
  }
  measured_ = 0;
  is_decided_ = false;
  failure_ = nullptr;
  if (everyone_holds_) return;
  channel_ = communicator_.open(
      {"sum", fmt::format("what rules measure in step {}", step.number + 1)});
}

Task<> RuleRun::combine(Bucket& bucket, SyncStep step,
                        std::vector<Received> received) {
  std::vector<Contribution>& part = held_[bucket.number()].part;
  part.clear();
  const int workers = roles_.workers();
  for (Received& each : received) {
    if (each.share == 0) continue;
    const float scale = scale_of(each.share, workers);
    if (scale != 1) {
      for (float& value : each.values) value *= scale;
    }
    part.push_back({each.rank, each.values});
  }
  if (rule_->measures() > 0) {
    measure(bucket);
    co_await decision(step);
  } else {
    check_number(part.size(), step);
  }
  rule_->combine(part_of_bucket(bucket), bucket.gradient());
  if (static_cast<int>(part.size()) == workers) co_return;
  // Those that came stand for all.
  const float times =
      static_cast<float>(workers) / static_cast<float>(part.size());
  for (float& value : bucket.gradient()) value *= times;
}

void RuleRun::check_number(std::size_t arrived, const SyncStep& step) const {
  const int count = static_cast<int>(arrived);
  std::optional<Refusal> refusal;
  if (count == 0) {
    refusal = Refusal{"no contribution at all", "there is nothing to combine",
                      "a batch with examples for several workers"};
  } else if (count < roles_.workers() &&
             call_.def->declines_workers != nullptr) {
    refusal = call_.def->declines_workers(call_.options, count);
  }
  if (!refusal) return;
  refusal->because +=
      fmt::format(": in step {} the others came too late, or had no examples",
                  step.number + 1);
  throw refused("sync.rule", in_quotes(to_string(call_)), *refusal);
}

RulePart RuleRun::part_of_bucket(const Bucket& bucket) const {
  const Held& held = held_[bucket.number()];
  return {.bucket = bucket.number(),
          .arrived = held.part,
          .parameters = held.parameters,
          .slots = held.slots};
}

void RuleRun::measure(const Bucket& bucket) {
  Held& held = held_[bucket.number()];
  if (rule_->reads_parameters()) {
    held.parameters.resize(bucket.gradient().size());
    for (const BucketMember& member : bucket.members()) {
      std::ranges::copy(
          trainable_[member.parameter].tensor.span<float>(),
          weft::part_of(std::span(held.parameters), member).begin());
    }
  }
  held.numbers.assign(rule_->measures(), 0.0);
  rule_->measure(part_of_bucket(bucket), held.numbers);
}

Task<> RuleRun::decision(SyncStep step) {
  // Whoever measures the last bucket decides, and the others wait for that.
  if (++measured_ == count_held_) {
    try {
      co_await decide(step);
      is_decided_ = true;
      changed_.notify_all();
    } catch (...) {
      fail(std::current_exception());
    }
  }
  while (!is_decided_) {
    if (failure_) std::rethrow_exception(failure_);
    co_await changed_.next();
  }
}

void RuleRun::fail(std::exception_ptr failure) {
  if (failure_ == nullptr) failure_ = std::move(failure);
  changed_.notify_all();
}

Task<> RuleRun::decide(SyncStep step) {
  std::vector<double> sums;
  for (;;) {
    co_await sum_numbers(sums);
    if (rule_->decide(
            {.number = step.number, .sums = sums, .slots = shared_slots_})) {
      co_return;
    }
    for (const Bucket& bucket : buckets_) {
      if (holds(bucket)) measure(bucket);
    }
  }
}

Task<> RuleRun::sum_numbers(std::vector<double>& sums) {
  const std::size_t count = rule_->measures();
  const int rank = communicator_.rank();
  // What each holder tells: the numbers of its buckets, one behind the other.
  const auto numbers_of = [&](int holder) {
    std::size_t buckets = 0;
    for (const Bucket& bucket : buckets_) {
      buckets += roles_.owner_of(bucket.number()) == holder ? 1 : 0;
    }
    return std::vector<double>(buckets * count);
  };
  if (!everyone_holds_) {
    std::vector<double> own;
    for (const Bucket& bucket : buckets_) {
      const auto& numbers = held_[bucket.number()].numbers;
      if (holds(bucket)) own.insert(own.end(), numbers.begin(), numbers.end());
    }
    std::vector<std::vector<double>> others;
    for (const int holder : holders_) {
      others.push_back(holder == rank ? std::vector<double>()
                                      : numbers_of(holder));
    }
    Transfers transfers(*channel_);
    for (std::size_t i = 0; i < holders_.size(); ++i) {
      if (holders_[i] == rank) continue;
      transfers.send(holders_[i], std::as_bytes(std::span(own)));
      transfers.receive(holders_[i],
                        std::as_writable_bytes(std::span(others[i])));
    }
    co_await transfers.all();
    std::vector<std::size_t> read(holders_.size());
    for (const Bucket& bucket : buckets_) {
      if (holds(bucket)) continue;
      const auto holder = static_cast<std::size_t>(
          std::ranges::find(holders_, roles_.owner_of(bucket.number())) -
          holders_.begin());
      const auto begin = others[holder].begin() +
                         static_cast<std::ptrdiff_t>(count * read[holder]++);
      held_[bucket.number()].numbers.assign(
          begin, begin + static_cast<std::ptrdiff_t>(count));
    }
  }
  sums.assign(count, 0.0);
  for (const Held& held : held_) {
    for (std::size_t i = 0; i < count; ++i) sums[i] += held.numbers[i];
  }
}

std::vector<OwnedTensor> RuleRun::state() const {
  std::vector<OwnedTensor> result;
  if (rule_ == nullptr) return result;
  // The first of those that hold the same one saves it.
  const auto owner_of = [&](const Bucket& bucket) {
    return everyone_holds_ ? 0 : roles_.owner_of(bucket.number());
  };
  const std::vector<RuleSlot> shared = rule_->shared_slots();
  for (std::size_t i = 0; i < shared.size(); ++i) {
    result.push_back({slot_name(shared[i]),
                      {shared[i].dtype, {shared[i].size}},
                      owner_of(buckets_[0]),
                      shared_slots_.empty() ? Tensor() : shared_slots_[i]});
  }
  const std::vector<RuleSlot> slots = rule_->slots();
  for (const Bucket& bucket : buckets_) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      for (const BucketMember& member : bucket.members()) {
        result.push_back({slot_name(slots[i], member),
                          {slots[i].dtype, member.shape},
                          owner_of(bucket),
                          holds(bucket)
                              ? part_of(held_[bucket.number()].slots[i], member)
                              : Tensor()});
      }
    }
  }
  return result;
}

std::string RuleRun::restore(
    const std::function<Tensor(const std::string&)>& read) {
  std::size_t wanted = 0;
  std::size_t missing = 0;
  for (const OwnedTensor& owned : state()) {
    if (!owned.tensor.is_defined()) continue;
    ++wanted;
    const Tensor saved = read(owned.name);
    if (!saved.is_defined()) {
      ++missing;
      continue;
    }
    if (!(saved.type() == owned.type)) {
      throw refused(
          owned.name, "this checkpoint",
          {fmt::format("rule {} with {} workers", in_quotes(to_string(call_)),
                       roles_.workers()),
           fmt::format("what that keeps is {}, and {} was saved",
                       to_string(owned.type), to_string(saved.type())),
           "go on with as many workers as before"},
          ErrorCode::kUnsupported);
    }
    owned.tensor.copy_from(saved);
  }
  if (missing > 0 && missing < wanted) {
    throw refused(
        "checkpoint", "this checkpoint",
        {"rule " + in_quotes(to_string(call_)),
         fmt::format("it has {} of the {} tensors that the rule keeps",
                     wanted - missing, wanted),
         "go on with the rule and the workers of before"},
        ErrorCode::kUnsupported);
  }
  if (missing > 0) {
    return fmt::format(
        "the checkpoint has nothing of rule '{}', which begins "
        "anew",
        call_.def->name);
  }
  if (wanted > 0) rule_->restored(shared_slots_);
  return "";
}

}  // namespace weft
