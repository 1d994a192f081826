// How one worker runs one region: by a scalar program if it is one, else by a
// plan.
//
// Threads: one run at a time; each worker has its own.
#pragma once

#include <optional>

#include "weft/runtime/plan.h"
#include "weft/runtime/tagged/scalar_program.h"

namespace weft {

class RegionRunner {
 public:
  RegionRunner(const Function& function, const PlanOptions& options) {
    if (!options.check_numerics) scalar_ = ScalarProgram::of(function);
    if (scalar_) return;
    plan_.emplace(function, options);
  }

  // Null unless the region is one.
  ScalarProgram* scalar() { return scalar_ ? &*scalar_ : nullptr; }
  // Of a region that is none.
  Plan& plan() { return *plan_; }

 private:
  std::optional<ScalarProgram> scalar_;
  std::optional<Plan> plan_;
};

}  // namespace weft
