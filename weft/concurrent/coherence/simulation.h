// Runs threads on a machine with many cores that is not there: a virtual clock
// charges each access to shared memory what it would cost.
//
//   Simulation simulation({.costs = calibrate().costs, .cores = 72});
//   simulation.run(72, [&](int thread) { …an algorithm over SimulatedMemory…
//   }); simulation.elapsed_ns();                // of the virtual clock
//   simulation.statistics().transfers;      // of cache lines between cores
//
// The core whose clock is furthest behind takes the next step, so accesses
// happen in the order of virtual time, and a run depends on nothing but the
// program and where its words lie relative to cache lines (64 bytes).
//
// An access to a line that the core holds costs load_ns or atomic_ns. Any other
// is a transfer, which takes transfer_ns. Transfers of one line take turns: if
// others are before it, a line arrives handover_ns after the core that had it
// has done its access and kept it for tenure_ns. A core that reads what another
// has written takes the line away from it, where that machine's lines migrate;
// otherwise the two share it.
//
// A core waits for as little as it can:
//
// - What is loaded relaxed, or touched, is fetched side by side until something
//   else follows.
// - Plain stores do not wait for their lines, since a store buffer does. Atomic
//   updates, seq_cst stores and seq_cst fences wait until that is empty.
// - It asks for lines up to ahead_ns before compute() ends, but not before the
//   atomic update that came last: so a transfer is hidden behind work.
//
// An access with another order than relaxed says that its address depends on
// what came before, unless it writes: it begins when all that has ended. Chains
// of pointers must be loaded with acquire.
//
// Threads beyond the number of cores share these in turn, a quantum each;
// yield() ends a thread's quantum.
//
// What is left out: cores that are near and far, caches that run full, and the
// instructions between accesses, unless the algorithm charges them by
// compute().
//
// The model is that of queueing at lines, as in Alistarh, Brown, Kopinsky,
// Nadiradze, "Relaxed Schedulers Can Efficiently Parallelize Iterative
// Algorithms", PODC 2018, which explains by it where a fetch-and-add head stops
// to scale. Lines that migrate: Stenstroem, Brorsson, Sandberg, "An Adaptive
// Cache Coherence Protocol Optimized for Migratory Sharing", ISCA 1993.
//
// Threads: one host thread per simulation. Cost: some 10 ns per access while
// the same core stays the earliest, some 100 ns for one that changes cores.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "weft/base/fiber/fiber.h"
#include "weft/concurrent/coherence/cache_lines.h"
#include "weft/concurrent/coherence/machine.h"

namespace weft::concurrent {

// Costs are in nanoseconds; calibrate.h measures them. These are of two cores
// of a Sapphire Rapids server.
struct CoherenceCosts {
  double load_ns = 0.3;         // loads and plain stores of lines one holds
  double atomic_ns = 5;         // atomic updates of lines one may write
  double transfer_ns = 85;      // fetching a line from another core
  double ahead_ns = 40;         // how early it is asked for
  double handover_ns = 45;      // the part of it for which the line travels
  double tenure_ns = 7;         // for which a core may keep what it fetched
  double pause_ns = 11;         // pause()
  double clock_ns = 18;         // nanoseconds()
  double yield_ns = 180;        // yield() where nobody else wants the core
  double switch_ns = 1500;      // to another thread of the same core
  double quantum_ns = 3000000;  // after which threads of one core take turns
  bool migrates = true;         // who reads what another wrote may write it
};

struct SimulationOptions {
  CoherenceCosts costs = {};
  int cores = 2;          // 1 … 128
  double most_ns = 10e9;  // of a run, on the virtual clock
};

class Simulation final : public Machine {
 public:
  struct Statistics {
    std::uint64_t accesses = 0;  // of atomics, and of lines by touch()
    std::uint64_t transfers = 0;
    double waited_ns = 0;  // of all cores, for lines that others used
    std::uint64_t switches = 0;
  };
  struct Line {
    const void* address = nullptr;
    std::uint64_t transfers = 0;
    double waited_ns = 0;
  };

  // Throws Error(kInvalidArgument) for costs below 0 or cores out of range.
  explicit Simulation(const SimulationOptions& options);
  ~Simulation() override;

  // Runs `body(thread)` for 0 … threads-1 and returns when all have ended; the
  // first exception of one reaches the caller then. Thread i stays on core
  // i mod cores. Caches keep what an earlier run left in them. Throws
  // Error(kExhausted) when it takes longer than most_ns, without destroying
  // what the unfinished threads have on their stacks.
  void run(int threads, const std::function<void(int)>& body);

  // How long the last run took, until its last thread ended.
  double elapsed_ns() const;
  // What was counted in all runs.
  Statistics statistics() const;
  // Those that made cores wait for longest.
  std::vector<Line> busiest_lines(std::size_t most) const;

  void before(const Operation& operation) noexcept override;
  void after(bool /*wrote*/, bool /*changed*/) noexcept override {}
  void pause() noexcept override;
  void yield() noexcept override;
  std::uint64_t nanoseconds() noexcept override;
  void compute(std::uint64_t nanoseconds) noexcept override;

 private:
  // Picoseconds, since cores hit their caches in fractions of a nanosecond.
  using Time = std::uint64_t;
  struct Costs {
    Time load, atomic, transfer, ahead, handover, tenure, pause, clock, yield,
        change, quantum;
    bool migrates;
  };

  struct Core {
    Time now = 0;                 // when it can ask for lines
    Time work_end = 0;            // when it has computed what came before
    Time stores_end = 0;          // when the last store has its line
    Time loads_end = 0;           // when relaxed loads have their lines
    Time slice_start = 0;         // of the running thread
    std::vector<Fiber*> threads;  // unfinished; the first one runs
  };

  // A core that waits for its turn.
  struct Turn {
    Time time = 0;
    int core = 0;
    bool is_behind(const Turn& other) const {
      return time != other.time ? time > other.time : core > other.core;
    }
  };

  void run_all();
  void wait_for_turn();
  void next_thread();
  void access(std::uint32_t line, const Operation& operation);
  void spend(Time cost);
  void ask_ahead();
  void await_loads();
  void settle();
  void read(std::uint32_t line, bool is_overlapped);
  void store(std::uint32_t line);
  void update(std::uint32_t line);
  bool still_owns(std::uint32_t line, Time all_before);
  Time fetch(std::uint32_t line, Time not_before, Time cost, bool stalls);
  void push_turn(int core);
  [[noreturn]] void give_up();

  Costs costs_;
  Time most_;
  std::vector<Core> cores_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  CacheLines lines_;
  std::vector<Turn> turns_;  // a heap, the earliest at the front
  Core* core_ = nullptr;     // the running one
  int core_number_ = 0;
  Time started_ = 0;
  Time ended_ = 0;
  std::uint64_t accesses_ = 0;
  std::uint64_t switches_ = 0;
  std::exception_ptr failure_;
};

}  // namespace weft::concurrent
