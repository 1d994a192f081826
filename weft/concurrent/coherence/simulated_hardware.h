// A SimulatedMemory whose machine has transactions in hardware, for explorers.
//
//   using M = TransactionalMemory;
//   Stm<M> stm;  // as in hardware, where an attempt is to be one step
//
// An attempt is one step of its thread: nobody else moves until it has
// committed or aborted. So it never interferes with another, which real ones
// do, but those that real ones abort leave nothing to see. What an aborted
// attempt has done to Atomics is undone, also what attempts inside of it have
// committed; plain memory stays as it is, and abort() throws, so that bodies
// must let pass what is thrown.
//
// Threads: see simulated_memory.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <vector>

#include "weft/concurrent/coherence/simulated_memory.h"

namespace weft::concurrent {

// Everything that happens while it lives is one step of the machine around it.
class AtomicStep final : public Machine {
 public:
  AtomicStep() : around_(current()) {
    if (around_ != nullptr)
      around_->before({.kind = Operation::Kind::kTransaction});
    scope_.emplace(*this);
  }
  AtomicStep(const AtomicStep&) = delete;
  AtomicStep& operator=(const AtomicStep&) = delete;
  ~AtomicStep() override {
    scope_.reset();
    if (auto* outer = dynamic_cast<AtomicStep*>(around_))
      std::ranges::move(overwritten_, std::back_inserter(outer->overwritten_));
    if (around_ != nullptr) around_->after(has_changed_, has_changed_);
  }

  void undo() noexcept {
    for (; !overwritten_.empty(); overwritten_.pop_back()) {
      const Overwritten& last = overwritten_.back();
      std::memcpy(last.place, last.bytes.data(), last.bytes.size());
    }
    has_changed_ = false;
  }

  void before(const Operation& operation) noexcept override {
    using Kind = Operation::Kind;
    if (operation.address == nullptr || operation.kind == Kind::kLoad ||
        operation.kind == Kind::kPlainRead)
      return;
    const auto* bytes = static_cast<const std::byte*>(operation.address);
    overwritten_.push_back({const_cast<void*>(operation.address),
                            {bytes, bytes + operation.bytes}});
  }
  void after(bool /*wrote*/, bool changed) noexcept override {
    has_changed_ |= changed;
  }
  void pause() noexcept override {}
  void yield() noexcept override {}
  std::uint64_t nanoseconds() noexcept override { return 0; }
  void compute(std::uint64_t /*nanoseconds*/) noexcept override {}

 private:
  struct Overwritten {
    void* place;
    std::vector<std::byte> bytes;  // that were there before
  };

  Machine* around_;
  std::optional<Scope> scope_;
  std::vector<Overwritten> overwritten_;
  bool has_changed_ = false;
};

struct SimulatedHardware {
  static bool is_available() noexcept { return true; }

  static bool is_inside() noexcept {
    return dynamic_cast<AtomicStep*>(Machine::current()) != nullptr;
  }

  template <class Body>
  static HardwareOutcome attempt(Body&& body) {
    AtomicStep step;
    try {
      body();
      return HardwareOutcome::kCommitted;
    } catch (HardwareOutcome why) {
      step.undo();
      return why;
    } catch (...) {
      step.undo();
      return HardwareOutcome::kThrown;
    }
  }

  template <HardwareOutcome kWhy>
  [[noreturn]] static void abort() {
    throw kWhy;
  }
};

struct TransactionalMemory : SimulatedMemory {
  using Hardware = SimulatedHardware;
};

static_assert(Memory<TransactionalMemory>);
static_assert(HasHardware<TransactionalMemory>);

}  // namespace weft::concurrent
