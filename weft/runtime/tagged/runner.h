// How one worker runs one region: by a scalar program if it is one, else by a
// plan.
//
// Threads: one run at a time; each worker has its own.
#pragma once

#include <optional>

#include "weft/compiler/flat/row_sums.h"
#include "weft/runtime/plan/plan.h"
#include "weft/runtime/tagged/scalar_program.h"

namespace weft {

class RegionRunner {
 public:
  // `is_accumulated` as in add_to_totals().
  RegionRunner(const Function& function, const PlanOptions& options,
               const std::vector<bool>& is_accumulated)
      : region_(add_to_totals(function, is_accumulated)),
        changed_(changed_tables(function)),
        options_(options) {
    if (!options.check_numerics) scalar_ = ScalarProgram::of(function);
    if (scalar_) return;
    options_.donated.insert(options_.donated.end(), region_.donated.begin(),
                            region_.donated.end());
    plan_.emplace(region_.function, options_);
  }

  // Null unless the region is one.
  ScalarProgram* scalar() { return scalar_ ? &*scalar_ : nullptr; }
  // The plan of a region that is no scalar program. After its inputs come the
  // totals that it adds to.
  Plan& plan() { return *plan_; }
  // The same, for inputs that nobody else holds: each of changed() is
  // overwritten by its result.
  Plan& plan_in_place() {
    if (!plan_in_place_) {
      PlanOptions options = options_;
      options.donated.insert(options.donated.end(), changed_.begin(),
                             changed_.end());
      plan_in_place_.emplace(region_.function, options);
    }
    return *plan_in_place_;
  }

  // The results that are added to totals.
  const std::vector<std::size_t>& added() const { return region_.results; }
  bool adds(std::size_t result) const { return region_.adds(result); }
  // Tables that the region changes some rows of: an input and its result.
  const std::vector<std::pair<std::size_t, std::size_t>>& changed() const {
    return changed_;
  }
  // The input that a result is changed from.
  std::optional<std::size_t> table_of(std::size_t result) const {
    for (const auto& [input, changed] : changed_) {
      if (changed == result) return input;
    }
    return std::nullopt;
  }

 private:
  WithTotals region_;
  std::vector<std::pair<std::size_t, std::size_t>> changed_;
  PlanOptions options_;
  std::optional<ScalarProgram> scalar_;
  std::optional<Plan> plan_;
  std::optional<Plan> plan_in_place_;
};

}  // namespace weft
