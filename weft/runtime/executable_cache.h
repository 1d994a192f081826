// Executables that are shared by all who ask for the same function: workers of
// one process run one plan, each with arguments and results of its own.
//
// Plans, generated code, constants and an arena are most of what a small model
// takes, and simulated workers are many.
//
// Threads: caller synchronises, the runs of what is shared too. A run must be
// over before another begins; so what may wait within a run, for other ranks or
// for code of the program, is not shared, and an observer must not wait.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/runtime/executable.h"

namespace weft {

class ExecutableCache {
 public:
  // An executable of the function `entry`: the one that was made of an equal
  // function with equal options, as long as the cache lives, or a new one.
  // Functions that branch, loop or call, or have frozen parameters, have one
  // each. Throws as Executable.
  std::shared_ptr<Executable> get(Graph graph, std::string_view entry,
                                  ExecutableOptions options);

  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    ExecutableOptions options;
    std::shared_ptr<Executable> executable;
  };
  // They are few: a training has some cuts of its step.
  std::vector<Known> known_;
};

}  // namespace weft
