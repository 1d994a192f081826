// What executes the accesses of simulated threads: one machine charges what
// each would cost on many cores (simulation.h), another chooses the order in
// which threads take their steps (explorer.h).
//
// SimulatedMemory tells the machine of an access before it happens; the machine
// returns when it is this thread's turn. Nothing comes between that and the
// access itself, so accesses are atomic and sequentially consistent.
//
// Threads: a machine and all that runs on it share one thread of the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weft/concurrent/memory.h"

namespace weft::concurrent {

struct Operation {
  enum class Kind : std::uint8_t {
    kLoad,
    kStore,
    kReadModifyWrite,
    kCompareExchange,  // a load where it fails
    kPlainRead,        // touch(): of memory that is no Atomic
    kPlainWrite,
    kFence,        // without an address
    kTransaction,  // in hardware: all that it does, as one step
  };
  Kind kind = Kind::kLoad;
  std::memory_order order = std::memory_order_seq_cst;
  const void* address = nullptr;
  std::size_t bytes = 0;
};

class Machine {
 public:
  Machine() = default;
  virtual ~Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The one on which the running thread was started; null elsewhere, where
  // accesses just happen.
  static Machine* current() { return running; }

  virtual void before(const Operation& operation) noexcept = 0;
  // Follows each operation that can write: whether it did, and whether the
  // word's bits are others now.
  virtual void after(bool wrote, bool changed) noexcept = 0;
  virtual void pause() noexcept = 0;
  virtual void yield() noexcept = 0;
  virtual std::uint64_t nanoseconds() noexcept = 0;
  virtual void compute(std::uint64_t nanoseconds) noexcept = 0;

 protected:
  // Makes this machine the current one while it runs.
  class Scope {
   public:
    explicit Scope(Machine& machine) : outer_(running) { running = &machine; }
    ~Scope() { running = outer_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Machine* outer_;
  };

 private:
  static inline constinit thread_local Machine* running = nullptr;
};

}  // namespace weft::concurrent
