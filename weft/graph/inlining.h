// What stands around FunctionBuilder::inline_function() where a function is
// built that begins as another, or is that other in a new form.
//
// Threads: as FunctionBuilder. Errors: those of its apply().
#pragma once

#include "weft/graph/builder.h"

namespace weft {

// Parameters of the builder with the types and names of `function`'s.
std::vector<Value> add_parameters(FunctionBuilder& builder,
                                  const Function& function);
// FunctionBuilder::inline_function() where only the results are wanted.
std::vector<Value> inlined_results(FunctionBuilder& builder,
                                   const Function& function,
                                   std::span<const Value> arguments);
// The whole function again, parameters included, with what the builder makes of
// each op. Returns the results.
std::vector<Value> rebuild(FunctionBuilder& builder, const Function& function);

}  // namespace weft
