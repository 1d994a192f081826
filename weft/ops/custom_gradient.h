// A part of a graph with a gradient of its own (runtime/custom_gradient.h).
//
// The part and its gradient both stand in the function that is being built: the
// gradient is computed there from seeds, values that stand for the gradients of
// the results. Whoever differentiates copies it, with the gradients that
// arrived in place of the seeds; who does not drops it, since nothing else
// reads it.
//
// Threads: as Context.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/context.h"

namespace weft {

// Stands for the gradient of `y`, which is floating, where gradients are made
// of it and of what stands `beside` it: instances (batching/batch.h) that
// differ in any of these have seeds of their own.
Value seed_like(const Value& y, std::span<const Value> beside = {});

struct CustomGradient {
  std::vector<Value> arguments;
  std::vector<Value> results;
  std::vector<Value> seeds;  // of the floating results, in order
  // There is one for each argument, of its type, made from the seeds; undefined
  // where none flows.
  std::vector<Value> gradients;
};

// The results, whose gradients are the given ones and no others. Throws
// Error(kInvalidArgument) unless each gradient has the type of its argument.
std::vector<Value> with_gradient(const CustomGradient& custom,
                                 const Location& where);

// The values that the nodes from number `first` on read of the function that is
// being built, and did not make.
std::vector<Value> read_since(std::size_t first);

// The nodes that `results` need of those that depend on `from`, once more, with
// `to` in place of `from`. All are values of the function that is being built.
// Takes time in proportion to its nodes.
std::vector<Value> copied(const std::vector<Value>& results,
                          const std::vector<Value>& from,
                          const std::vector<Value>& to);

}  // namespace weft
