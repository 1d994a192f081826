// The core of weft::jit (jit.h): a callable over flattened arguments that is
// traced once per kind of arguments, and runs as a graph from then on.
//
// Code of the host runs while tracing only: what it decides is decided for all
// calls of that kind, and its numbers become constants.
//
// Variables may be made in the first call only. That call traces twice, so
// that the graph that is kept finds them there.
//
// A function that calls itself with arguments of the kind that is being traced
// becomes a recursive function; the types of its results must be declared. So
// do functions that call each other: what calls back a function that is being
// traced is a part of that one, and traced again for others.
//
// What code takes from around it (graph/surroundings.h) counts as arguments do:
// a trace is good for one precision, for the modes of the layers that it read,
// and for any random key.
//
// Threads: thread-safe. Tracing is serialised in the whole process, so that
//          functions may call each other on any threads.
// Source:  Agrawal et al., "TensorFlow Eager", 2019, section 4.6.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/runtime/jit/trace_cache.h"

namespace weft {

struct JitOptions {
  std::string name = "jit";  // messages call the graphs so
  // The types of the tensor arguments, with symbols where any size may come:
  // then there is one graph for all calls.
  std::optional<std::vector<TensorType>> signature = std::nullopt;
  // The types of the results, for a function that calls itself.
  std::optional<std::vector<TensorType>> results = std::nullopt;
  // Let dims that keep changing become symbolic.
  bool relax_dims = true;
  // Off: every op runs by itself, with the bits of eager execution.
  bool fuse = true;
  // Looks for faster graphs before they run (runtime/optimize.h).
  std::optional<SearchOptions> search = std::nullopt;
  // Bytes that the values of a call may take: what would be kept for long is
  // computed again (ExecutableOptions::memory_limit).
  std::optional<std::size_t> memory_limit = std::nullopt;
  // How a function that branches, loops or calls itself is run.
  TaggedOptions tagged = {};
  std::size_t max_graphs = 64;  // the least recently used one goes
  std::size_t warn_after = 8;   // graphs
  // Told once; prints on standard error if empty.
  std::function<void(const std::string&)> warn = nullptr;
};

class JitFunction {
 public:
  // What a callable returns: its tensors, and what is needed to put them back
  // where they belong.
  struct Results {
    std::vector<Value> tensors;
    std::shared_ptr<const void> structure;
  };
  // Is called with a Value for each tensor argument, in order.
  using Body = std::function<Results(std::span<const Value> tensors)>;

  explicit JitFunction(JitOptions options = {});

  // Runs the graph for such arguments, after tracing `body` if there is none.
  // Throws Error(kInvalidArgument) for arguments that the signature does not
  // take, and what tracing and running throw.
  Results call(Arguments arguments, const Body& body);

  // The graph that call() would run.
  GraphFunctionRef graph(Arguments arguments, const Body& body);

  // How often a body was run to be traced, and how many graphs are kept.
  std::size_t trace_count() const { return trace_count_; }
  std::size_t graph_count() const { return cache_.size(); }

 private:
  // A trace of this function that is not finished.
  struct Open {
    const ArgumentKey& key;
    std::string name;
    Trace& trace;
    bool calls_itself = false;
    bool calls_outer = false;  // one around it that is not finished either
  };
  struct Pass;
  class OpenScope;

  ArgumentKey key_of(Arguments& arguments) const;
  void check_signature(const Arguments& arguments) const;
  Pass find_or_trace(const ArgumentKey& key, const Body& body);
  // With the dims of the key as they are, from now on for all like it.
  Pass trace_as_given(const ArgumentKey& key, const Body& body);
  Pass trace_kept(const ArgumentKey& key, const Body& body);
  Pass trace(const ArgumentKey& key, const Body& body);
  Pass trace_once(const ArgumentKey& key, const Body& body, bool may_create,
                  const std::vector<Hidden>& expected);
  Open* find_open(const ArgumentKey& key);
  bool fits(const GraphFunction& function,
            std::span<const Value> arguments) const;
  Results call_as_given(const ArgumentKey& key, const Arguments& arguments,
                        const Body& body);
  Results call_itself(Open& open, const Arguments& arguments);
  Results call_part(const Pass& part, const Arguments& arguments);

  JitOptions options_;
  TraceCache cache_;
  std::vector<Open*> open_;  // while this thread traces
  bool was_called_ = false;
  std::atomic<std::size_t> trace_count_ = 0;
};

}  // namespace weft
