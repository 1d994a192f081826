// How much memory steps need in some order, with steps that run again: an
// account of lifetimes, which is right but for gaps in the arena and for parts
// that lie in other values (storage.h).
//
// Threads: immutable once built.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "weft/compiler/places.h"
#include "weft/compiler/repeated_steps.h"

namespace weft {

class OrderMemory {
 public:
  using Donated = std::vector<std::pair<std::size_t, std::size_t>>;

  // A value between two runs of the step that makes it, at positions of an
  // order.
  struct Version {
    std::size_t buffer;
    std::size_t first;  // the run that writes it
    std::size_t last;   // the last run that reads it, inclusive
    std::size_t bytes;  // of the arena: none if it is the caller's memory
  };

  // `steps` are those of form_steps(), before parts are placed.
  OrderMemory(const Function& function, const std::vector<PlanStep>& steps,
              const Donated& donated, const CanOverwrite& can_overwrite);

  // What steps read and write are buffers: values that steps make, whole ones.
  const std::vector<std::size_t>& reads(std::size_t step) const {
    return reads_[step];
  }
  const std::vector<std::size_t>& writes(std::size_t step) const {
    return writes_[step];
  }
  std::size_t step_count() const { return reads_.size(); }
  std::size_t buffer_count() const { return bytes_.size(); }
  std::size_t maker(std::size_t buffer) const { return maker_[buffer]; }
  // Whether a second run computes the same, and does nothing else. Random ops
  // draw by their keys, so they may run again; what meets other ranks or runs
  // code of the program may not.
  bool may_repeat(std::size_t step) const { return may_repeat_[step]; }

  // They come in the order in which they are made.
  std::vector<Version> versions(const StepOrder& order) const;
  // The bytes that are taken while each run runs.
  std::vector<std::size_t> profile(const StepOrder& order) const;

 private:
  struct Overwrite {
    std::size_t output;  // buffers
    std::size_t input;
  };
  struct Donation {
    std::size_t result;              // a buffer
    std::vector<bool> is_read = {};  // by step: whether it reads the old value
    bool is_in_place = false;  // the step that writes may read the old value
  };

  void find_overwrites(const std::vector<PlanStep>& steps,
                       const Function& function,
                       const CanOverwrite& can_overwrite);
  void find_donations(const Function& function,
                      const std::vector<PlanStep>& steps,
                      const Donated& donated,
                      const CanOverwrite& can_overwrite);
  void add_donations(const StepOrder& order,
                     std::vector<std::size_t>& profile) const;
  std::vector<Version> versions(
      const StepOrder& order,
      std::vector<std::pair<std::size_t, std::size_t>>* overwrites) const;

  std::vector<std::size_t> buffer_of_;  // by value; its own number if none
  std::vector<std::size_t> bytes_;      // by buffer
  std::vector<std::size_t> maker_;      // by buffer: a step
  std::vector<bool> is_returned_;       // by buffer
  std::vector<std::vector<std::size_t>> reads_, writes_;  // by step
  std::vector<bool> may_repeat_;                          // by step
  std::vector<std::vector<Overwrite>> overwrites_;        // by step
  std::vector<Donation> donations_;
};

}  // namespace weft
