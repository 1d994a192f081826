// Projections onto closed sets: of all points of the set, the nearest to the
// given one. A set is written "ball(radius=2)" (base/call_reader.h); the
// wrapper `project` takes parameters onto one after each step.
//
// A new set is one file in weft/optim/projections.
//
// Threads: pure functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"
#include "weft/graph/value.h"

namespace weft {

// The nearest point, of x's type. NaN stays NaN.
using Projection = std::function<Value(const Value& x)>;

struct ProjectionDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;
  // `options` are complete. Throws Error(kInvalidArgument) for values that make
  // no sense together.
  Projection (*make)(const Options& options) = nullptr;
};

using ProjectionRegistry = Registry<ProjectionDef>;
// It is filled from the files of weft/optim/projections.
const ProjectionRegistry& projection_registry();

// Throws Error(kInvalidArgument) for an unknown set, with the nearest name, and
// for options that make no sense.
Projection make_projection(std::string_view text);

// ‖x‖ over `axes`, which are kept, or over all where there are none. No square
// overflows or vanishes.
Value norm_over(const Value& x, const std::vector<std::int64_t>& axes);

}  // namespace weft
