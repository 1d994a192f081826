// Total momentum, by which parameters move on of themselves: that of the
// optimizer, and what late gradients add to it (Mitliagkas, Zhang, Hadjis and
// Re, "Asynchrony begets momentum", Allerton 2016). It is estimated as
// YellowFin does (Zhang and Mitliagkas, "YellowFin and the Art of Momentum
// Tuning", MLSys 2019, closed-loop YellowFin): a gradient g that is late by L
// updates is of the parameters x_s of that time, for which momentum alone would
// have made
//
//   x_{s+1} - x_s = momentum (x_s - x_{s-1}) - rate g
//
// so that the estimate is the median over elements of
//
//   (x_{s+1} - x_s + rate g) / (x_s - x_{s-1})
//
// The elements are the same random ones in all steps; those that have not moved
// are left out.
//
// Threads: immutable.
#pragma once

#include <vector>

#include "weft/optim/optimizer.h"

namespace weft {

class TotalMomentum {
 public:
  // Gradients that are later than `most_late` updates are not asked. Of each
  // element one float for so many updates is remembered.
  TotalMomentum(std::int64_t elements, std::int64_t most_late)
      : elements_(elements), rows_(most_late + 2) {}

  // What is remembered of all parameters together.
  std::vector<Slot> slots() const;

  // What an update makes of a parameter: -rate * direction, f32[] being the
  // rate.
  struct Move {
    Value gradient;
    Value direction;
  };
  struct Estimate {
    Value momentum;  // f64[], in [-1, 1]
    Value is_there;  // bool[]
  };
  // Looks at the update that is under way. `own` are the values of slots(),
  // which become the next ones.
  Estimate measure(std::span<const Move> made, const Value& rate,
                   const StepTime& time, std::span<Value> own) const;

 private:
  std::vector<Value> picked(std::span<const Move> made) const;

  std::int64_t elements_;
  std::int64_t rows_;
};

}  // namespace weft
