// Makes a function faster by rules whose worth is measured (compiler/search.h),
// and measures the winner end to end: it is taken only if it is faster.
//
// Threads: one optimizes at a time, as it measures with all threads.
#pragma once

#include <string>
#include <vector>

#include "weft/compiler/batch_norm_form.h"
#include "weft/compiler/search_options.h"
#include "weft/graph/function.h"
#include "weft/runtime/optimize_report.h"
#include "weft/tensor/symbol.h"

namespace weft {

struct OptimizeOptions {
  SearchOptions search = {};
  // Passes and rules that plans leave out (compiler/pass.h).
  std::vector<std::string> without = {};
  // How far plans fuse batch norm.
  BatchNormForm batch_norm = BatchNormForm::kAuto;
};

struct Optimized {
  Function function;
  OptimizeReport report;
};

// `is_frozen` has an entry for each parameter: what depends on frozen ones
// alone is computed once, by whoever runs the function (compiler/frozen.h).
// `dims` says what its symbols stand for where it is measured; the result takes
// any. With alpha above 1 a greedy search is made too, and the faster of both
// is taken. Throws Error(kUnsupported) for a function that branches, loops or
// calls, meets other ranks or runs code of the program, or whose dims are not
// all bound; what search() throws.
Optimized optimize(const Function& function, const std::vector<bool>& is_frozen,
                   const Bindings& dims, const OptimizeOptions& options);

}  // namespace weft
