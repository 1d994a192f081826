// Priority queues that may return not the first entry but one of the first.
//
// A k-relaxed queue promises, for the rank of what it returns among what it
// holds, Pr[rank >= l] <= exp(-l / k), and for the number of others that it
// returns while an entry is its first one, Pr[overtaken >= l] <= exp(-l / k).
// k = 1 is an exact queue. What one wins by k > 1 is that threads need not
// agree on which entry is the first one.
//
//   MultiQueue<std::uint64_t, int> queue({.queues = 4});
//   auto handle = queue.handle(thread);  // one per thread
//   handle.push({.key = 3, .value = 42});
//   if (const auto entry = handle.pop()) use(entry->value);
//
// Small keys come first. Entries of equal keys come in any order.
//
// pop() returns nothing if it found nothing that it could take: with other
// threads at work the queue need not be empty, as one of them may hold a lock
// or may be about to push. Who must know when all is done counts what is done.
//
// Threads: handle() and handles of different threads may be used at once; one
// handle belongs to one thread, and no two share a number.
//
// Source: Alistarh, Brown, Kopinsky, Nadiradze, "Relaxed schedulers can
// efficiently parallelize iterative algorithms", PODC 2018.
#pragma once

#include <concepts>
#include <optional>

namespace weft::concurrent {

struct Nothing {};  // the value of entries that are keys alone

template <class K, class V = Nothing>
struct Entry {
  K key;
  [[no_unique_address]] V value{};
};

template <class Q>
concept RelaxedQueue = requires(Q& queue, typename Q::Handle& handle,
                                typename Q::Entry entry) {
  { queue.handle(0) } -> std::same_as<typename Q::Handle>;
  handle.push(entry);
  { handle.pop() } -> std::same_as<std::optional<typename Q::Entry>>;
  typename Q::MemoryType;
};

}  // namespace weft::concurrent
