// The graphs of one staged function, by what they were traced for.
//
// A dim that has changed twice between calls that were alike otherwise becomes
// symbolic: the next graph takes any size there. A graph is found as long as
// the modes that it depends on are as it found them (graph/mode.h). The least
// recently used graph goes when there are too many, and so does one whose
// objects died.
//
// Threads: thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/runtime/jit/arguments.h"
#include "weft/runtime/jit/graph_function.h"

namespace weft {

// A traced graph, with what its callable returned beside tensors.
struct Traced {
  GraphFunctionRef function;
  std::shared_ptr<const void> structure;
};

class TraceCache {
 public:
  // Keeps at most `limit` graphs. `warn` is told once, after `warn_after` of
  // them were made, what made the last one necessary.
  TraceCache(std::size_t limit, std::size_t warn_after,
             std::function<void(const std::string&)> warn)
      : limit_(limit), warn_after_(warn_after), warn_(std::move(warn)) {}

  // What comes back has no function if there is none.
  Traced find(const ArgumentKey& key);

  // The key to trace for, when nothing was found: with symbols for the dims
  // that change. Counts the miss.
  ArgumentKey generalise(const ArgumentKey& key);
  // From now on keys like this one keep their dims: a graph with symbols could
  // not be made.
  void keep_static(const ArgumentKey& key);

  void insert(ArgumentKey key, Traced traced);
  std::size_t size() const;

 private:
  struct Entry {
    ArgumentKey key;
    bool has_symbols;
    Traced traced;
  };
  // How often each dim has changed, in keys that differ in dims alone.
  struct Changes {
    ArgumentKey last;
    std::map<std::size_t, int> count;  // by the dim's place in the words
    bool is_static = false;
  };
  using Entries = std::list<Entry>;

  Traced use(Entries::iterator entry);
  void erase(Entries::iterator entry);
  void erase_useless();
  void erase_replaced(const ArgumentKey& key, const GraphFunction& by);
  Changes& changes_of(const ArgumentKey& key);

  std::size_t limit_;
  std::size_t warn_after_;
  std::function<void(const std::string&)> warn_;
  mutable std::mutex mutex_;
  Entries entries_;  // the most recently used first
  std::unordered_multimap<std::size_t, Entries::iterator> exact_;
  std::list<Changes> changes_;
  std::size_t made_ = 0;
};

}  // namespace weft
