// A Memory (memory.h) whose accesses pass through a simulated machine.
//
//   template <Memory M> struct Ticket {
//     typename M::template Atomic<std::uint64_t> next{0};
//   };
//
//   Ticket<SimulatedMemory> ticket;
//   Simulation simulation({.cores = 72});  // or an Explorer
//   simulation.run(72, [&](int) { ticket.next.fetch_add(1); });
//
// Outside of a machine, before and after a run, accesses just happen.
//
// What a memory order permits beyond sequential consistency never happens here;
// orders only decide what an access costs. All simulated threads are one thread
// of the host: variables that are thread_local there are shared by all of them.
//
// Threads: everything on the host's thread that runs the machine.
#pragma once

#include <concepts>
#include <cstring>
#include <type_traits>

#include "weft/concurrent/coherence/machine.h"

namespace weft::concurrent {

// As a processor compares: two that are no numbers can be equal, and the zeros
// of both signs are not.
template <class T>
bool have_same_bits(const T& a, const T& b) {
  return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b),
                     sizeof(T)) == 0;
}

template <class T>
class SimulatedAtomic {
 public:
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  using value_type = T;
  using Order = std::memory_order;
  // What fetch_add takes: for pointers, elements.
  using Difference =
      std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;

  constexpr SimulatedAtomic() noexcept : value_() {}
  constexpr SimulatedAtomic(T value) noexcept : value_(value) {}
  SimulatedAtomic(const SimulatedAtomic&) = delete;
  SimulatedAtomic& operator=(const SimulatedAtomic&) = delete;

  T load(Order order = Order::seq_cst) const noexcept {
    announce(Operation::Kind::kLoad, order);
    return value_;
  }

  void store(T value, Order order = Order::seq_cst) noexcept {
    announce(Operation::Kind::kStore, order);
    put(value);
  }

  T exchange(T value, Order order = Order::seq_cst) noexcept {
    return modify([&](T) { return value; }, order);
  }
  T fetch_add(Difference value, Order order = Order::seq_cst) noexcept {
    return modify([&](T old) { return plus(old, value); }, order);
  }
  T fetch_sub(Difference value, Order order = Order::seq_cst) noexcept {
    return modify([&](T old) { return minus(old, value); }, order);
  }
  T fetch_or(T value, Order order = Order::seq_cst) noexcept {
    return modify([&](T old) { return static_cast<T>(old | value); }, order);
  }
  T fetch_and(T value, Order order = Order::seq_cst) noexcept {
    return modify([&](T old) { return static_cast<T>(old & value); }, order);
  }

  bool compare_exchange_strong(T& expected, T desired, Order success,
                               Order /*failure*/) noexcept {
    announce(Operation::Kind::kCompareExchange, success);
    if (have_same_bits(value_, expected)) {
      put(desired);
      return true;
    }
    expected = value_;
    done(false, false);
    return false;
  }
  bool compare_exchange_strong(T& expected, T desired,
                               Order order = Order::seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, order, order);
  }
  // Never fails by chance.
  bool compare_exchange_weak(T& expected, T desired, Order success,
                             Order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             Order order = Order::seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, order, order);
  }

 private:
  // Integers wrap around, as those of std::atomic do.
  static T plus(T a, Difference b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) +
                            static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
  static T minus(T a, Difference b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) -
                            static_cast<Unsigned>(b));
    } else {
      return a - b;
    }
  }

  template <class Change>
  T modify(const Change& change, Order order) noexcept {
    announce(Operation::Kind::kReadModifyWrite, order);
    const T old = value_;
    put(change(old));
    return old;
  }

  void put(T value) noexcept {
    const bool changed = !have_same_bits(value_, value);
    value_ = value;
    done(true, changed);
  }

  void announce(Operation::Kind kind, Order order) const noexcept {
    if (Machine* machine = Machine::current())
      machine->before(
          {kind, order, static_cast<const void*>(&value_), sizeof(T)});
  }
  static void done(bool wrote, bool changed) noexcept {
    if (Machine* machine = Machine::current()) machine->after(wrote, changed);
  }

  // Aligned as std::atomic is: a word lies on one line.
  alignas(sizeof(T)) T value_;
};

// The same of a T that is plain memory otherwise.
template <class T>
class SimulatedAtomicRef {
 public:
  using Order = std::memory_order;

  explicit SimulatedAtomicRef(T& value) noexcept : value_(&value) {}

  T load(Order order = Order::seq_cst) const noexcept {
    announce(Operation::Kind::kLoad, order);
    return *value_;
  }
  void store(T value, Order order = Order::seq_cst) const noexcept {
    announce(Operation::Kind::kStore, order);
    put(value);
  }
  T fetch_add(T value, Order order = Order::seq_cst) const noexcept {
    announce(Operation::Kind::kReadModifyWrite, order);
    const T old = *value_;
    put(old + value);
    return old;
  }
  bool compare_exchange_strong(T& expected, T desired,
                               Order order = Order::seq_cst) const noexcept {
    announce(Operation::Kind::kCompareExchange, order);
    if (have_same_bits(*value_, expected)) {
      put(desired);
      return true;
    }
    expected = *value_;
    if (Machine* machine = Machine::current()) machine->after(false, false);
    return false;
  }

 private:
  void put(T value) const noexcept {
    const bool changed = !have_same_bits(*value_, value);
    *value_ = value;
    if (Machine* machine = Machine::current()) machine->after(true, changed);
  }
  void announce(Operation::Kind kind, Order order) const noexcept {
    if (Machine* machine = Machine::current())
      machine->before({kind, order, value_, sizeof(T)});
  }

  T* value_;
};

struct SimulatedMemory {
  template <class T>
  using Atomic = SimulatedAtomic<T>;
  template <class T>
  using AtomicRef = SimulatedAtomicRef<T>;

  static void fence(std::memory_order order) noexcept {
    if (Machine* machine = Machine::current())
      machine->before({Operation::Kind::kFence, order, nullptr, 0});
  }
  static void pause() noexcept {
    if (Machine* machine = Machine::current()) machine->pause();
  }
  static void yield() noexcept {
    if (Machine* machine = Machine::current()) machine->yield();
  }
  // 0 outside of a machine.
  static std::uint64_t nanoseconds() noexcept {
    Machine* machine = Machine::current();
    return machine ? machine->nanoseconds() : 0;
  }
  static void compute(std::uint64_t nanoseconds) noexcept {
    if (Machine* machine = Machine::current()) machine->compute(nanoseconds);
  }
  static void touch(const void* address, std::size_t bytes,
                    Access access) noexcept {
    Machine* machine = Machine::current();
    if (!machine || bytes == 0) return;
    const bool writes = access == Access::kWrite;
    machine->before(
        {writes ? Operation::Kind::kPlainWrite : Operation::Kind::kPlainRead,
         std::memory_order_relaxed, address, bytes});
    // What is written comes only now: it counts as a change.
    if (writes) machine->after(true, true);
  }
};

static_assert(Memory<SimulatedMemory>);

}  // namespace weft::concurrent
