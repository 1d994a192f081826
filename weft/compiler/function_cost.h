// What a whole function costs: the sum of the steps that a plan would make of
// it.
//
// Threads: as CostTable.
#pragma once

#include <string>
#include <vector>

#include "weft/compiler/batch_norm_form.h"
#include "weft/compiler/cost_table.h"
#include "weft/compiler/pass.h"
#include "weft/compiler/stand_ins.h"
#include "weft/tensor/symbol.h"

namespace weft {

struct FunctionCost {
  StepCost total;
  // The arena of a plan that overwrites nothing in place.
  std::size_t arena_bytes = 0;
};

// Costs of functions that are rewritten from one another.
class FunctionCosts {
 public:
  struct Options {
    // What symbolic dims stand for.
    Bindings dims = {};
    PassOptions passes = {};
    // How far plans fuse batch norm.
    BatchNormForm batch_norm = BatchNormForm::kAuto;
    // What a whole run moves, when the functions are parts of a larger one:
    // between two runs everything else passes through the cache.
    double bytes_of_run = 0;
  };

  FunctionCosts(CostTable& table, Options options)
      : table_(table), options_(std::move(options)) {}

  // `is_frozen` has an entry for each parameter: what depends on frozen ones
  // alone is computed once, and costs nothing. An operand is taken to come
  // from memory where more than half of the last-level cache was moved since it
  // was touched last. Throws what CostTable::cost() throws.
  FunctionCost cost(const Function& function,
                    const std::vector<bool>& is_frozen);

  // Costs asked from now on are those of parts whose runs move so many bytes.
  void set_bytes_of_run(double bytes) { options_.bytes_of_run = bytes; }
  CostTable& table() { return table_; }

 private:
  CostTable& table_;
  Options options_;
  StandIns stand_ins_;
};

}  // namespace weft
