// Reverse mode, written once for both worlds: a list of applications of ops
// in the order they ran (the nodes of a function, or an eager tape) is walked
// backwards, and each op's gradient rule adds more ops. What comes out is
// ordinary ops again, so gradients of gradients need nothing new.
//
// Threads: pure functions of their arguments and the current context.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/graph/value.h"

namespace weft {

// One application of an op, or of a staged function.
struct Application {
  const OpDef* op;
  Attributes attributes;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  // Gradients of the inputs from those of the outputs (undefined where none
  // arrived). Empty: the op's rule.
  std::function<Gradients(std::span<const Value>)> backward = nullptr;
};

// The gradient rule of ops that run functions (kControl). It may change the
// applied nodes, so it belongs to the walk and not to the ops.
using ControlRule = std::function<Gradients(const GradientContext&)>;

// The gradient of sum(seed_i * root_i) with respect to each of `wrt`, by the
// chain rule over `applications`. Emits ops into the current context. An
// undefined Value where nothing flows. Values are told apart by Value::id().
// Throws Error(kUnsupported) for an op without a gradient on the way.
std::vector<Value> reverse(std::span<const Application> applications,
                           std::span<const Value> roots,
                           std::span<const Value> seeds,
                           std::span<const Value> wrt,
                           const ControlRule& control = nullptr);
// The same for what ran at once, letting go of each application once it has
// been walked.
std::vector<Value> reverse(std::vector<Application>&& applications,
                           std::span<const Value> roots,
                           std::span<const Value> seeds,
                           std::span<const Value> wrt);

}  // namespace weft
