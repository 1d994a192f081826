// The steps of a training step as a chain (checkpoint_chain.h): forward steps
// cut where one value is all that later ones read, and for each stage the
// backward steps that read what it made.
//
// A graph that is only nearly a chain is taken for one: what is small beside
// the one value is kept. Any order that comes out computes the same, and
// OrderMemory says what it needs.
//
// Threads: immutable once built.
#pragma once

#include <optional>
#include <vector>

#include "weft/compiler/checkpoint_chain.h"
#include "weft/compiler/order_memory.h"

namespace weft {

class ChainOrder {
 public:
  // `seconds` of each step. Both outlive this.
  ChainOrder(const OrderMemory& memory, const std::vector<double>& seconds);

  // None where the steps are no chain of at least two stages.
  std::size_t stage_count() const { return stages_.size(); }
  // The order of the least time in so many bytes, by the chain's account.
  // Nothing where there is none.
  std::optional<StepOrder> order_within(std::size_t bytes) const;

 private:
  // Positions [begin, end) in the order in which all steps run once.
  struct Range {
    std::size_t begin, end;
  };
  // At each forward position: the bytes of what is there and read forward
  // behind it, and the largest such value that can be a stage's output.
  struct Crossing {
    std::vector<std::size_t> bytes;
    std::vector<std::size_t> largest;
  };

  void find_turn();
  Crossing crossing() const;
  void find_stages();
  void find_saved();
  void find_backward();
  bool join_stages();
  void measure();
  bool is_backward(std::size_t position) const { return position > turn_; }
  std::vector<std::size_t> runs_again(std::size_t stage, bool with_saved) const;

  const OrderMemory& memory_;
  const std::vector<double>& seconds_;
  std::vector<OrderMemory::Version> versions_;     // by buffer
  std::vector<std::vector<std::size_t>> readers_;  // by buffer: positions
  std::size_t turn_ = 0;                           // the last forward position
  std::vector<Range> forward_;
  std::vector<Range> backward_;                  // by stage
  std::vector<std::size_t> outputs_;             // by stage: a buffer
  std::vector<std::vector<std::size_t>> saved_;  // by stage: buffers
  std::vector<ChainStage> stages_;
};

}  // namespace weft
