// What a model takes and returns, as the protocol says it.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "weft/serve/served_model.h"

namespace weft::serve {

// {"name": …, "versions": […], "platform": …, "inputs": […], "outputs": […]},
// and what the protocol leaves to servers: "parameters", with
//   "batch"    how many rows share a run at most, or why none do
//   "input"    what people give: "image", "row" or "text"; not there for
//              a function whose file says nothing of it
//   "classes"  the names of what the outputs tell, in order
//   "image"    [height, width, channels]
//   "columns"  the names of a row's fields
// `versions` are those of the model that are served, this one among them.
std::string metadata_json(const ServedModel& model,
                          const std::vector<std::string>& versions);

// Sizes, and -1 for what the request decides.
std::vector<std::int64_t> protocol_shape(const Shape& shape);

}  // namespace weft::serve
