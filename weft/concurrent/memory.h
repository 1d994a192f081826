// Where a concurrent algorithm keeps the words that its threads share.
//
// The algorithms of this folder are templates over a Memory. RealMemory is what
// one ships: std::atomic, real threads, no cost. Simulated memories
// (coherence/) offer the same names, and there each access passes a scheduler:
// one charges what the access costs on a machine with many cores, another
// tries the orders in which threads can interleave. The algorithm's code is
// the same.
//
// A Memory has
//
//   Atomic<T>           load, store, exchange, fetch_add, fetch_sub, fetch_or,
//                       fetch_and, compare_exchange_{weak,strong}, with the
//                       orders of std::atomic; T is a word
//   fence(order)        std::atomic_thread_fence
//   pause()             "I am waiting": a hint inside loops that spin
//   yield()             gives the core away
//   nanoseconds()       a monotonic clock
//   compute(ns)         this thread works for so long on what it alone sees
//   touch(p, bytes, a)  it reads or writes plain memory that a lock guards, and
//                       that may lie in another core's cache
//
// The last two tell a simulation what its clock must charge; on real memory
// they are nothing. A Memory may have besides
//
//   AtomicRef<T>        load, store, fetch_add and compare_exchange_strong of a
//                       T that is plain memory otherwise, as std::atomic_ref
//   Hardware            transactions in hardware (hardware.h)
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "weft/concurrent/hardware.h"

namespace weft::concurrent {

enum class Access : std::uint8_t { kRead, kWrite };

struct RealMemory {
#ifdef WEFT_HAS_RTM
  using Hardware = Rtm;
#endif

  template <class T>
  using Atomic = std::atomic<T>;
  template <class T>
  using AtomicRef = std::atomic_ref<T>;

  static void fence(std::memory_order order) noexcept {
    std::atomic_thread_fence(order);
  }

  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  static void yield() noexcept { std::this_thread::yield(); }

  static std::uint64_t nanoseconds() noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }

  static void compute(std::uint64_t /*nanoseconds*/) noexcept {}
  static void touch(const void* /*address*/, std::size_t /*bytes*/,
                    Access /*access*/) noexcept {}
};

template <class M>
concept Memory = requires(typename M::template Atomic<std::uint64_t>& word,
                          std::uint64_t value, const void* address,
                          std::size_t bytes) {
  { word.load(std::memory_order_acquire) } -> std::same_as<std::uint64_t>;
  word.store(value, std::memory_order_release);
  { word.exchange(value) } -> std::same_as<std::uint64_t>;
  { word.fetch_add(value) } -> std::same_as<std::uint64_t>;
  { word.compare_exchange_strong(value, value) } -> std::same_as<bool>;
  M::fence(std::memory_order_seq_cst);
  M::pause();
  M::yield();
  { M::nanoseconds() } -> std::same_as<std::uint64_t>;
  M::compute(value);
  M::touch(address, bytes, Access::kWrite);
};

static_assert(Memory<RealMemory>);

}  // namespace weft::concurrent
