// What a chain of stages, which runs forward and then backward, keeps and what
// it computes again, so that it takes the least time in a given memory.
//
// The schedule is optimal among those that keep what they once kept until its
// stage has run backward. Takes time in proportion to stages^3 * kMemorySlots.
//
// Threads: pure functions.
// Source:  Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova, "Optimal
//          checkpointing for heterogeneous chains: how to train deep neural
//          networks with limited memory", 2019, theorem 1; after Griewank and
//          Walther's Revolve, 2000, and Chen et al., "Training deep nets with
//          sublinear memory cost", 2016.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weft {

// Bytes are those beyond what the stages around it keep.
struct ChainStage {
  double seconds = 0;        // of its forward pass
  std::size_t output = 0;    // what the next stage reads
  std::size_t saved = 0;     // what its backward pass reads, with its output
  std::size_t forward = 0;   // while it runs forward, beside its input
  std::size_t backward = 0;  // while it runs backward, beside its input
  // What later stages leave to its backward pass: it is there while stages
  // before it run forward again.
  std::size_t gradient = 0;
};

struct ChainAction {
  enum Kind {
    kForward,        // forward, with nothing kept but the output
    kForwardSaving,  // forward, with all that backward reads
    kBackward,
  } kind;
  std::size_t stage;
  bool operator==(const ChainAction&) const = default;
};

struct ChainSchedule {
  double seconds = 0;  // of all forward runs
  std::vector<ChainAction> actions;
};

// Memory is counted in so many parts of the limit, rounded up.
inline constexpr std::size_t kMemorySlots = 256;

// Nothing if no schedule keeps within `limit` bytes; the input of the first
// stage is not counted.
std::optional<ChainSchedule> checkpoint_chain(
    std::span<const ChainStage> stages, std::size_t limit);

}  // namespace weft
