// Functions from functions: what a callable does to small changes of its
// arguments, forwards and backwards.
//
//   const auto [outputs, pull_back] = vjp(f, {x, y});
//   const std::vector<Value> gradients = pull_back({seed});
//   const auto [values, tangents] = jvp(f, {x}, {dx});
//
// They work where ops run at once and inside of a function that is being built,
// and on each other's results. Only floating values have gradients and
// tangents: elsewhere these are undefined, and what is given there is not
// looked at. A callable is differentiated by its arguments alone; variables
// that it reads are constants to it.
//
// Threads: as Tape.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weft/runtime/eager.h"

namespace weft {

using Callable = std::function<std::vector<Value>(const std::vector<Value>&)>;

// The gradient of sum(seed_i * output_i) by each of the arguments, as often as
// it is wanted. Costs what a gradient costs, each time.
class PullBack {
 public:
  // One seed for each output; undefined ones are zeros. Throws
  // Error(kInvalidArgument) for others in number or type.
  std::vector<Value> operator()(const std::vector<Value>& seeds) const;

 private:
  friend struct Vjp;
  friend struct Vjp vjp(const Callable&, std::vector<Value>);

  std::shared_ptr<Tape> tape_;
  std::vector<Value> arguments_;
  std::vector<Value> outputs_;
};

struct Vjp {
  std::vector<Value> outputs;
  PullBack pull_back;
};

Vjp vjp(const Callable& function, std::vector<Value> arguments);

struct Jvp {
  std::vector<Value> outputs;
  std::vector<Value> tangents;  // how the outputs change
};

// How the outputs change as the arguments change by `tangents`, one for each;
// undefined ones are zeros. The gradient is linear in its seeds, and its own
// gradient by them is the wanted map: so every op whose gradient is made of ops
// that have gradients has this too, at the cost of two gradients (Townsend, "A
// new trick for calculating Jacobian vector products", 2017). What of the first
// gradient the second does not read is not computed in staged functions, loops
// and recursion included. Throws Error(kInvalidArgument) for tangents of other
// numbers or types.
Jvp jvp(const Callable& function, std::vector<Value> arguments,
        const std::vector<Value>& tangents);

}  // namespace weft
