#include "weft/compiler/chain_order.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

// More stages would take the schedule longer to find, and gain little.
constexpr std::size_t kMostStages = 64;
// What crosses a cut beside the one value may have a sixteenth of its bytes.
constexpr std::size_t kSmall = 16;
// What lives shorter than one in so many steps says nothing of the turn.
constexpr std::size_t kShort = 16;
constexpr std::size_t kNoOutput = static_cast<std::size_t>(-1);

StepOrder each_once(std::size_t count) {
  StepOrder order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

}  // namespace

ChainOrder::ChainOrder(const OrderMemory& memory,
                       const std::vector<double>& seconds)
    : memory_(memory),
      seconds_(seconds),
      versions_(memory.buffer_count()),
      readers_(memory.buffer_count()) {
  for (const auto& version : memory.versions(each_once(memory.step_count()))) {
    versions_[version.buffer] = version;
  }
  for (std::size_t i = 0; i < memory.step_count(); ++i) {
    for (const std::size_t buffer : memory.reads(i)) {
      readers_[buffer].push_back(i);
    }
  }
  find_turn();
  find_stages();
  do {
    find_saved();
    find_backward();
  } while (join_stages());
  if (forward_.size() > 1) measure();
}

// The forward pass fills memory with what the backward pass reads, which frees
// it again: the turn is where the most of it is there.
void ChainOrder::find_turn() {
  const std::size_t count = memory_.step_count();
  std::vector<std::size_t> change(count + 1, 0);
  for (const OrderMemory::Version& version : versions_) {
    if ((version.last - version.first) * kShort < count) continue;
    change[version.first] += version.bytes;
    change[version.last] -= version.bytes;  // wraps around, and sums are right
  }
  std::size_t bytes = 0, most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += change[i];
    if (bytes <= most) continue;
    most = bytes;
    turn_ = i;
  }
}

ChainOrder::Crossing ChainOrder::crossing() const {
  Crossing found{std::vector<std::size_t>(turn_ + 1, 0),
                 std::vector<std::size_t>(turn_ + 1, kNoOutput)};
  for (std::size_t buffer = 0; buffer < versions_.size(); ++buffer) {
    const OrderMemory::Version& version = versions_[buffer];
    std::size_t last = version.first;
    for (const std::size_t reader : readers_[buffer]) {
      if (!is_backward(reader)) last = std::max(last, reader);
    }
    // What is not read backward need not be there when its stage begins again:
    // what it is made from is.
    const bool may_be_output = version.bytes > 0 && is_backward(version.last) &&
                               memory_.may_repeat(memory_.maker(buffer));
    for (std::size_t i = version.first; i < last; ++i) {
      found.bytes[i] += version.bytes;
      std::size_t& largest = found.largest[i];
      if (may_be_output &&
          (largest == kNoOutput || versions_[largest].bytes < version.bytes)) {
        largest = buffer;
      }
    }
  }
  return found;
}

void ChainOrder::find_stages() {
  const Crossing crosses = crossing();
  std::vector<std::size_t> cuts;
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < turn_; ++i) {
    const std::size_t value = crosses.largest[i];
    if (value == kNoOutput) continue;
    const std::size_t own = versions_[value].bytes;
    const bool is_new = outputs.empty() || outputs.back() != value;
    if (!is_new || (crosses.bytes[i] - own) * kSmall > own) continue;
    cuts.push_back(i);
    outputs.push_back(value);
  }
  const std::size_t every = cuts.size() / kMostStages + 1;
  std::size_t begin = 0;
  for (std::size_t i = every - 1; i < cuts.size(); i += every) {
    forward_.push_back({begin, cuts[i] + 1});
    outputs_.push_back(outputs[i]);
    begin = cuts[i] + 1;
  }
  forward_.push_back({begin, turn_ + 1});
  // What the last stage makes goes to the backward pass alone.
  outputs_.push_back(kNoOutput);
}

void ChainOrder::find_saved() {
  saved_.clear();
  for (std::size_t stage = 0; stage < forward_.size(); ++stage) {
    std::vector<std::size_t>& saved = saved_.emplace_back();
    for (std::size_t i = forward_[stage].begin; i < forward_[stage].end; ++i) {
      for (const std::size_t buffer : memory_.writes(i)) {
        const OrderMemory::Version& version = versions_[buffer];
        if (version.bytes > 0 && is_backward(version.last) &&
            buffer != outputs_[stage] && memory_.may_repeat(i)) {
          saved.push_back(buffer);
        }
      }
    }
  }
}

// A stage runs backward from the first step that reads what it saved, or the
// last that reads its output, to where the stage before it begins to: the next
// stage's backward pass reads that output, too, as its input.
void ChainOrder::find_backward() {
  backward_.clear();
  std::size_t end = memory_.step_count();
  for (std::size_t stage = 0; stage < forward_.size(); ++stage) {
    std::size_t begin = end;
    for (const std::size_t buffer : saved_[stage]) {
      for (const std::size_t reader : readers_[buffer]) {
        if (is_backward(reader)) begin = std::min(begin, reader);
      }
    }
    if (outputs_[stage] != kNoOutput) {
      const std::size_t last = versions_[outputs_[stage]].last;
      if (is_backward(last)) begin = std::min(begin, last);
    }
    backward_.push_back({begin, end});
    end = begin;
  }
  backward_.back().begin = turn_ + 1;
}

// Joins a stage without a backward pass of its own with the one before, which
// reads in its place. Returns whether there was one.
bool ChainOrder::join_stages() {
  std::vector<Range> forward{forward_[0]};
  std::vector<std::size_t> outputs{outputs_[0]};
  for (std::size_t i = 1; i < forward_.size(); ++i) {
    if (backward_[i].begin == backward_[i].end) {
      forward.back().end = forward_[i].end;
      outputs.back() = outputs_[i];
    } else {
      forward.push_back(forward_[i]);
      outputs.push_back(outputs_[i]);
    }
  }
  const bool are_fewer = forward.size() < forward_.size();
  forward_ = std::move(forward);
  outputs_ = std::move(outputs);
  return are_fewer;
}

void ChainOrder::measure() {
  const std::vector<std::size_t> profile =
      memory_.profile(each_once(memory_.step_count()));
  // What the first stages keep at a position, which the schedule counts.
  const auto kept = [&](std::size_t position, std::size_t stages) {
    std::size_t bytes = 0;
    const auto count = [&](std::size_t buffer) {
      const OrderMemory::Version& version = versions_[buffer];
      if (version.first < position && position <= version.last) {
        bytes += version.bytes;
      }
    };
    for (std::size_t stage = 0; stage < stages; ++stage) {
      if (outputs_[stage] != kNoOutput) count(outputs_[stage]);
      for (const std::size_t buffer : saved_[stage]) count(buffer);
    }
    return bytes;
  };
  const auto most_beside = [&](Range range, std::size_t stage) {
    std::size_t most = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      most = std::max(most, profile[i] - std::min(profile[i], kept(i, stage)));
    }
    return most;
  };
  // What is there when a stage begins to run backward, and is none of it.
  const auto left_to = [&](std::size_t stage) {
    const std::size_t begin = backward_[stage].begin;
    std::size_t bytes = 0;
    for (const OrderMemory::Version& version : versions_) {
      if (version.first < begin && begin <= version.last) {
        bytes += version.bytes;
      }
    }
    return bytes - kept(begin, stage + 1);
  };
  for (std::size_t i = 0; i < forward_.size(); ++i) {
    ChainStage stage;
    for (const std::size_t step : runs_again(i, /*with_saved=*/true)) {
      stage.seconds += seconds_[step];
    }
    if (outputs_[i] != kNoOutput) stage.output = versions_[outputs_[i]].bytes;
    stage.saved = stage.output;
    for (const std::size_t buffer : saved_[i]) {
      stage.saved += versions_[buffer].bytes;
    }
    stage.forward = most_beside(forward_[i], i);
    stage.backward = most_beside(backward_[i], i);
    if (i + 1 < forward_.size()) stage.gradient = left_to(i);
    stages_.push_back(stage);
  }
}

// The steps of a stage that make its output, and if need be what it saves.
std::vector<std::size_t> ChainOrder::runs_again(std::size_t stage,
                                                bool with_saved) const {
  const Range range = forward_[stage];
  std::vector<bool> is_needed(range.end - range.begin, false);
  const auto need = [&](std::size_t buffer) {
    const std::size_t step = memory_.maker(buffer);
    if (step >= range.begin && step < range.end) {
      is_needed[step - range.begin] = memory_.may_repeat(step);
    }
  };
  if (outputs_[stage] != kNoOutput) need(outputs_[stage]);
  if (with_saved) std::ranges::for_each(saved_[stage], need);
  std::vector<std::size_t> steps;
  for (std::size_t i = range.end; i-- > range.begin;) {
    if (!is_needed[i - range.begin]) continue;
    std::ranges::for_each(memory_.reads(i), need);
    steps.push_back(i);
  }
  std::ranges::reverse(steps);
  return steps;
}

std::optional<StepOrder> ChainOrder::order_within(std::size_t bytes) const {
  const auto schedule = checkpoint_chain(stages_, bytes);
  if (!schedule) return std::nullopt;
  StepOrder order;
  std::vector<bool> has_run(stages_.size(), false);
  const auto append = [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) order.push_back(i);
  };
  for (const ChainAction& action : schedule->actions) {
    if (action.kind == ChainAction::kBackward) {
      append(backward_[action.stage]);
    } else if (!has_run[action.stage]) {
      // The first run is of all: there may be more than what comes again.
      has_run[action.stage] = true;
      append(forward_[action.stage]);
    } else {
      const std::vector<std::size_t> again =
          runs_again(action.stage, action.kind == ChainAction::kForwardSaving);
      order.insert(order.end(), again.begin(), again.end());
    }
  }
  return order;
}

}  // namespace weft
