// Tries the orders in which a few threads can take their steps, and finds the
// one that breaks an assertion.
//
//   struct TwoAdd : Program {
//     SimulatedMemory::Atomic<int> value{0};
//     void run(int) override { value.store(value.load() + 1); }
//     void check() override { require(value.load() == 2, "an update is lost");
//     }
//   };
//
//   const Exploration found =
//       explore(2, [] { return std::make_unique<TwoAdd>(); });
//   found.failure;     // "an update is lost"
//   found.describe();  // and the steps that lead there
//
// A step is one access to an Atomic, or one touch(), with all that the thread
// computes until its next one. The program is run again and again, each time
// with another order of steps, depth first; of orders that differ only in steps
// that commute, one is run (source sets and sleep sets). When nothing is found
// and `is_complete`, no order breaks the program, under these terms:
//
// - Memory is sequentially consistent. A bug that needs a weaker order is not
//   found.
// - A thread that waits says so by pause() or yield(). It then goes on only
//   after another thread has changed a word that it has read since it last
//   said so; without a change it would wait on. So a wait that ends by itself
//   after some rounds is only seen to end when nobody else can move; give it
//   none or one round.
// - The program does the same given the same order: no clock (nanoseconds() is
//   a thread's own count of steps), no random seed, nothing between runs.
//
// Source: Abdulla, Aronis, Jonsson, Sagonas, "Optimal Dynamic Partial Order
// Reduction", POPL 2014, algorithm 1.
//
// Threads: the program's are fibers of the caller's. Cost: about 100 ns per
// step; executions grow exponentially with the steps that do not commute.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::concurrent {

inline constexpr int kMostExploredThreads = 8;

// What is explored: made afresh for each execution, over SimulatedMemory. An
// exception of any kind is the failure that is looked for.
class Program {
 public:
  Program() = default;
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  virtual void run(int thread) = 0;
  // Is called when all threads have ended.
  virtual void check() {}
};

// Throws what the explorer reports when `holds` is false.
void require(bool holds, std::string_view what);

struct ExplorationOptions {
  // Bounds what is tried: no more switches away from a thread that could go on.
  // All orders within the bound are then run, also those that commute.
  std::optional<int> preemptions = {};
  std::uint64_t most_executions = 10'000'000;
  // An execution that takes more steps is reported as a failure.
  std::uint64_t most_steps = 20'000;
};

struct Exploration {
  struct Step {
    int thread = 0;
    std::string access;  // "store b", with a letter for each word
  };

  std::uint64_t executions = 0;
  std::uint64_t steps = 0;
  bool is_complete = false;    // nothing is left to try
  std::string failure;         // empty for none; then nothing more was tried
  std::vector<Step> schedule;  // that fails

  // One line, and one for each step of a failing schedule.
  std::string describe() const;
};

// Throws Error(kInvalidArgument) for other than 1 … 8 threads.
Exploration explore(int threads,
                    const std::function<std::unique_ptr<Program>()>& make,
                    const ExplorationOptions& options = {});

}  // namespace weft::concurrent
