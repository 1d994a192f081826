#include "weft/compiler/checkpoint_chain.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The table of the paper: the least time C(s, t, m) of stages s to t, forward
// and backward, in m slots, where the input of s is there and not counted.
class Chain {
 public:
  Chain(std::span<const ChainStage> stages, std::size_t limit)
      : stages_(stages),
        slot_bytes_(std::max<std::size_t>(
            1, (limit + kMemorySlots - 1) / kMemorySlots)),
        slots_(limit / slot_bytes_),
        cells_(stages.size() * stages.size() * (slots_ + 1)) {
    for (std::size_t length = 1; length <= stages.size(); ++length) {
      for (std::size_t s = 0; s + length <= stages.size(); ++s) {
        for (std::size_t m = 0; m <= slots_; ++m) {
          cell(s, s + length - 1, m) = best(s, s + length - 1, m);
        }
      }
    }
  }

  std::optional<ChainSchedule> schedule() {
    const std::size_t last = stages_.size() - 1;
    const double seconds = cell(0, last, slots_).seconds;
    if (seconds == kNever) return std::nullopt;
    ChainSchedule result{seconds, {}};
    write(0, last, slots_, result.actions);
    return result;
  }

 private:
  struct Cell {
    double seconds = kNever;
    // The next stage whose input is kept; s itself if s saves what it needs.
    std::size_t kept = 0;
  };

  Cell& cell(std::size_t s, std::size_t t, std::size_t m) {
    return cells_[(s * stages_.size() + t) * (slots_ + 1) + m];
  }
  std::size_t slots(std::size_t bytes) const {
    return (bytes + slot_bytes_ - 1) / slot_bytes_;
  }

  Cell best(std::size_t s, std::size_t t, std::size_t m) {
    Cell found{kNever, s};
    const ChainStage& stage = stages_[s];
    // What ends before the last stage runs forward again.
    const std::size_t gradient = slots(stages_[t].gradient);
    if (slots(stage.forward) + gradient > m) return found;
    // C2 of the paper: s keeps what its backward pass reads.
    const std::size_t saved = slots(stage.saved);
    if (slots(stage.backward) <= m && saved <= m) {
      found.seconds =
          stage.seconds + (s < t ? cell(s + 1, t, m - saved).seconds : 0);
    }
    // C1: s and some behind it keep nothing, and run again when the rest has
    // run backward.
    double forward = 0;
    for (std::size_t next = s + 1; next <= t; ++next) {
      const std::size_t before = next - 1;
      forward += stages_[before].seconds;
      const std::size_t input =
          before == s ? 0 : slots(stages_[before - 1].output);
      const std::size_t output = slots(stages_[before].output);
      if (input + slots(stages_[before].forward) + gradient > m || output > m) {
        break;
      }
      const double seconds = forward + cell(next, t, m - output).seconds +
                             cell(s, before, m).seconds;
      if (seconds < found.seconds) found = {seconds, next};
    }
    return found;
  }

  void write(std::size_t s, std::size_t t, std::size_t m,
             std::vector<ChainAction>& actions) {
    const std::size_t next = cell(s, t, m).kept;
    if (next == s) {
      actions.push_back({ChainAction::kForwardSaving, s});
      if (s < t) write(s + 1, t, m - slots(stages_[s].saved), actions);
      actions.push_back({ChainAction::kBackward, s});
      return;
    }
    for (std::size_t stage = s; stage < next; ++stage) {
      actions.push_back({ChainAction::kForward, stage});
    }
    write(next, t, m - slots(stages_[next - 1].output), actions);
    write(s, next - 1, m, actions);
  }

  std::span<const ChainStage> stages_;
  std::size_t slot_bytes_;
  std::size_t slots_;
  std::vector<Cell> cells_;
};

}  // namespace

std::optional<ChainSchedule> checkpoint_chain(
    std::span<const ChainStage> stages, std::size_t limit) {
  if (stages.empty()) return std::nullopt;
  return Chain(stages, limit).schedule();
}

}  // namespace weft
