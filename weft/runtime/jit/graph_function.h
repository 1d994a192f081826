// A function made from a callable, ready to be called: eagerly, where it runs
// as a whole and tapes see one application; or inside another function, where
// it becomes one call node.
//
// Captured values are passed along at each call; variables are read and
// assigned by reference.
//
// Threads: may be called on several threads at once, unless it assigns
//          variables.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/runtime/executable_pool.h"
#include "weft/runtime/jit/trace.h"

namespace weft {

class GraphFunction {
 public:
  // `graph`'s function `entry` takes arguments, then what `hidden` says; it
  // returns results, then the values of the assigned variables. It is good as
  // long as `dependencies` hold. Which arguments `options` donate
  // is decided here.
  GraphFunction(Graph graph, std::string entry, std::vector<Hidden> hidden,
                ExecutableOptions options = {}, Dependencies dependencies = {});
  ~GraphFunction();
  GraphFunction(const GraphFunction&) = delete;
  GraphFunction& operator=(const GraphFunction&) = delete;

  const Graph& graph() const { return graph_; }
  const Function& function() const { return *graph_.find(entry_); }
  const std::vector<Hidden>& hidden() const { return hidden_; }
  // The hidden ones are not counted.
  std::size_t argument_count() const { return argument_count_; }
  std::size_t result_count() const { return result_count_; }

  const Dependencies& dependencies() const { return dependencies_; }

  // False while a mode or a layer that it depends on is another, and once it
  // captured values of a function that has been built since.
  bool is_callable() const {
    return dependencies_.hold() && has_open_captures();
  }
  // Whether it may become callable again.
  bool has_open_captures() const;

  // Whether the graph means something for arguments of these sizes; it may not
  // where dims of its own are symbols. Costs a copy of the function.
  bool fits(std::span<const Value> arguments) const;

  // Throws Error(kInvalidArgument) for a variable that died or has no value,
  // and what running throws.
  std::vector<Value> call(std::span<const Value> arguments);

  // Plans a call with such arguments, and runs it, in as many executables as
  // there will be calls at once. What it assigns is dropped.
  void prepare(std::span<const Value> arguments, std::size_t copies);

  // How many values a forward run keeps for the backward run, beside what goes
  // in and comes out, when the inputs marked in `wrt` (arguments, then hidden
  // ones) are watched by one tape.
  std::size_t saved_count(const std::vector<bool>& wrt);

 private:
  // A variable that the function assigns.
  struct Assigned {
    std::size_t hidden;
    std::size_t input;
    std::size_t result;
    bool is_in_place;  // its memory is overwritten
  };
  class Assignment;
  class Derivative;

  std::vector<Value> call_in(FunctionBuilder& builder,
                             std::vector<Value> inputs);
  std::vector<Value> call_recorded(std::vector<Value> inputs,
                                   std::size_t tapes);
  std::vector<Value> call_kept(const std::shared_ptr<Derivative>& derived,
                               std::vector<Value> inputs,
                               const std::vector<bool>& wrt);
  std::vector<Value> with_hidden(std::span<const Value> arguments) const;
  std::vector<Value> run(ExecutablePool& executables,
                         std::vector<Value> inputs) const;
  std::shared_ptr<Derivative> derivative(const std::vector<bool>& wrt,
                                         std::size_t order);

  Graph graph_;
  std::string entry_;
  std::vector<Hidden> hidden_;
  std::size_t argument_count_;
  std::size_t result_count_;
  ExecutableOptions options_;
  Dependencies dependencies_;
  std::vector<Assigned> assigned_;
  std::shared_ptr<ExecutablePool> executables_;
  std::mutex mutex_;  // guards derivatives_
  std::map<std::pair<std::vector<bool>, std::size_t>,
           std::shared_ptr<Derivative>>
      derivatives_;
};

using GraphFunctionRef = std::shared_ptr<GraphFunction>;

}  // namespace weft
