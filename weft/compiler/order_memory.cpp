#include "weft/compiler/order_memory.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "weft/base/index.h"
#include "weft/compiler/memory_plan.h"

namespace weft {
namespace {

constexpr std::size_t kNoBuffer = std::numeric_limits<std::size_t>::max();

// The operands of a step that have the bytes of a value.
std::vector<std::size_t> operands_from(const Function& function,
                                       const PlanStep& step, ValueId source) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (storage_of(function, step.inputs[i]) == source) found.push_back(i);
  }
  return found;
}

bool does_more_than_compute(const Function& function, const PlanStep& step) {
  return std::ranges::any_of(step.nodes, [&](NodeId id) {
    const OpDef& op = *function.node(id).op;
    return op.has(kHost) || op.has(kCollective) || op.has(kControl);
  });
}

}  // namespace

OrderMemory::OrderMemory(const Function& function,
                         const std::vector<PlanStep>& steps,
                         const Donated& donated,
                         const CanOverwrite& can_overwrite)
    : buffer_of_(function.value_count(), kNoBuffer),
      reads_(steps.size()),
      writes_(steps.size()),
      overwrites_(steps.size()) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    may_repeat_.push_back(!does_more_than_compute(function, steps[i]));
    for (const ValueId id : steps[i].outputs) {
      buffer_of_[at(id)] = bytes_.size();
      writes_[i].push_back(bytes_.size());
      bytes_.push_back(aligned(function.type(id).bytes()));
      maker_.push_back(i);
    }
  }
  is_returned_.assign(bytes_.size(), false);
  for (const ValueId id : function.results()) {
    const std::size_t buffer = buffer_of_[at(storage_of(function, id))];
    if (buffer != kNoBuffer) is_returned_[buffer] = true;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const ValueId id : steps[i].inputs) {
      const std::size_t buffer = buffer_of_[at(storage_of(function, id))];
      // An operand that no step makes is a parameter or a constant.
      if (buffer != kNoBuffer) reads_[i].push_back(buffer);
    }
    std::ranges::sort(reads_[i]);
    const auto repeated = std::ranges::unique(reads_[i]);
    reads_[i].erase(repeated.begin(), repeated.end());
  }
  find_overwrites(steps, function, can_overwrite);
  find_donations(function, steps, donated, can_overwrite);
}

void OrderMemory::find_overwrites(const std::vector<PlanStep>& steps,
                                  const Function& function,
                                  const CanOverwrite& can_overwrite) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t output = 0; output < writes_[i].size(); ++output) {
      for (const ValueId id : steps[i].inputs) {
        const ValueId source = storage_of(function, id);
        const std::size_t input = buffer_of_[at(source)];
        if (input == kNoBuffer || bytes_[input] != bytes_[writes_[i][output]] ||
            !can_overwrite(i, operands_from(function, steps[i], source),
                           output)) {
          continue;
        }
        overwrites_[i].push_back({writes_[i][output], input});
      }
    }
  }
}

void OrderMemory::find_donations(const Function& function,
                                 const std::vector<PlanStep>& steps,
                                 const Donated& donated,
                                 const CanOverwrite& can_overwrite) {
  for (const auto& [parameter, result] : donated) {
    const ValueId value = storage_of(function, function.results()[result]);
    const std::size_t buffer = buffer_of_[at(value)];
    if (buffer == kNoBuffer) continue;
    const ValueId old = function.parameters()[parameter];
    Donation donation{.result = buffer};
    for (const PlanStep& step : steps) {
      donation.is_read.push_back(!operands_from(function, step, old).empty());
    }
    const std::size_t maker = maker_[buffer];
    const auto output = static_cast<std::size_t>(
        std::ranges::find(writes_[maker], buffer) - writes_[maker].begin());
    donation.is_in_place = can_overwrite(
        maker, operands_from(function, steps[maker], old), output);
    donations_.push_back(std::move(donation));
  }
}

std::vector<OrderMemory::Version> OrderMemory::versions(
    const StepOrder& order) const {
  return versions(order, nullptr);
}

std::vector<OrderMemory::Version> OrderMemory::versions(
    const StepOrder& order,
    std::vector<std::pair<std::size_t, std::size_t>>* overwrites) const {
  std::vector<Version> found;
  std::vector<std::size_t> latest(bytes_.size(), kNoBuffer);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t step = order[i];
    for (const std::size_t buffer : reads_[step]) {
      WEFT_CHECK(latest[buffer] != kNoBuffer,
                 "a step runs before what it reads");
      found[latest[buffer]].last = i;
    }
    const std::size_t first_written = found.size();
    for (const std::size_t buffer : writes_[step]) {
      const bool is_first = latest[buffer] == kNoBuffer;
      const bool is_callers = is_returned_[buffer] && is_first;
      found.push_back({buffer, i, i, is_callers ? 0 : bytes_[buffer]});
    }
    if (overwrites != nullptr) {
      for (const Overwrite& each : overwrites_[step]) {
        const auto output = static_cast<std::size_t>(
            std::ranges::find(writes_[step], each.output) -
            writes_[step].begin());
        overwrites->emplace_back(first_written + output, latest[each.input]);
      }
    }
    for (std::size_t j = 0; j < writes_[step].size(); ++j) {
      std::size_t& version = latest[writes_[step][j]];
      // What the function returns stays where the first run wrote it.
      if (version == kNoBuffer || !is_returned_[writes_[step][j]]) {
        version = first_written + j;
      }
    }
  }
  return found;
}

std::vector<std::size_t> OrderMemory::profile(const StepOrder& order) const {
  std::vector<std::pair<std::size_t, std::size_t>> overwrites;
  const std::vector<Version> all = versions(order, &overwrites);
  std::vector<std::size_t> profile(order.size(), 0);
  // Differences first; unsigned numbers wrap around, and their sums come out
  // right.
  for (const Version& version : all) {
    profile[version.first] += version.bytes;
    if (version.last + 1 < order.size()) {
      profile[version.last + 1] -= version.bytes;
    }
  }
  for (std::size_t i = 1; i < profile.size(); ++i) profile[i] += profile[i - 1];
  // A result that takes the place of an operand is not there beside it.
  std::vector<bool> has_taken(all.size(), false);
  std::vector<bool> is_taken(all.size(), false);
  for (const auto& [output, input] : overwrites) {
    const std::size_t position = all[output].first;
    if (has_taken[output] || is_taken[input] || all[input].last != position ||
        all[input].bytes == 0 || all[output].bytes == 0) {
      continue;
    }
    has_taken[output] = true;
    is_taken[input] = true;
    profile[position] -= all[output].bytes;
  }
  add_donations(order, profile);
  return profile;
}

// A result that is to overwrite an argument waits in the arena if somebody
// reads the argument later.
void OrderMemory::add_donations(const StepOrder& order,
                                std::vector<std::size_t>& profile) const {
  for (const Donation& donation : donations_) {
    std::optional<std::size_t> written;
    bool must_wait = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool is_written = !written && order[i] == maker_[donation.result];
      if (is_written) written = i;
      if (!written || !donation.is_read[order[i]]) continue;
      must_wait = must_wait || !is_written || !donation.is_in_place;
    }
    if (!must_wait) continue;
    for (std::size_t i = *written; i < order.size(); ++i) {
      profile[i] += bytes_[donation.result];
    }
  }
}

}  // namespace weft
